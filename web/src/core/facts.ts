/** What the line tells of all sessions, to whom it concerns. */
import { inbox } from "./inbox.svelte";
import type { Event } from "./protocol";
import { sessions } from "./sessions.svelte";

export function hear(event: Event): void {
  sessions.heard(event);
  inbox.heard(event);
}

/** Reads anew what a tab that was asleep has missed. */
export function refresh(): void {
  void sessions.load();
  void inbox.load();
}
