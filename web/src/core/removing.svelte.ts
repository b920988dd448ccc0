/** Deleting with a way back: a session is out of sight at once, and gone for good some seconds later. */
import { call } from "./api";
import { stop } from "./commands";
import { keepDraft } from "./drafts";
import type { SessionRow } from "./protocol";
import { sessions } from "./sessions.svelte";

/** Milliseconds to take it back in. */
export const UNDO_FOR = 8000;

class Removing {
  /** What waits to be deleted, the last one last. */
  rows = $state.raw<readonly SessionRow[]>([]);
  error = $state("");
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    addEventListener("pagehide", () => void this.now(true));
  }

  has(id: string): boolean {
    return this.rows.some((row) => row.id === id);
  }

  add(row: SessionRow): void {
    this.error = "";
    this.rows = [...this.rows, row];
    this.hold();
    if (row.status === "running") {
      stop(row.id).catch((failure: unknown) => (this.error = (failure as Error).message));
    }
  }

  undo(): void {
    clearTimeout(this.timer);
    this.rows = [];
  }

  /** The time stands still while somebody looks at the way back. */
  hold(running = true): void {
    clearTimeout(this.timer);
    if (running && this.rows.length) this.timer = setTimeout(() => void this.now(), UNDO_FOR);
  }

  /** `leaving`: the page goes; the calls outlive it. */
  async now(leaving = false): Promise<void> {
    clearTimeout(this.timer);
    const gone = this.rows;
    for (const row of gone) {
      try {
        const path = `/api/agent/sessions/${encodeURIComponent(row.id)}`;
        await call("DELETE", path, undefined, { keepalive: leaving });
        keepDraft(row.id, { text: "", pastes: [] });
        sessions.drop(row.id);
      } catch (failure) {
        this.error = (failure as Error).message;
      }
    }
    this.rows = this.rows.filter((row) => !gone.includes(row));
  }
}

export const removing = new Removing();
