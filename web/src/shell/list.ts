/** What the list of sessions shows: which rows, under which day, with which badge. */
import type { IconName } from "../core/icons";
import type { SessionRow } from "../core/protocol";

export type Which = "all" | "running" | "archived";
export const WHICH: readonly Which[] = ["all", "running", "archived"];
export type Day = "pinned" | "today" | "yesterday" | "week" | "older";
export interface Group {
  day: Day;
  rows: SessionRow[];
}
export type BadgeName = "running" | "approval" | "question" | "interrupted" | "error";
export interface Badge {
  name: BadgeName;
  icon: IconName;
}

const BADGES: { [S in SessionRow["status"]]: Badge | null } = {
  idle: null,
  running: { name: "running", icon: "play" },
  waiting_approval: { name: "approval", icon: "warning" },
  waiting_answer: { name: "question", icon: "ask" },
  interrupted: { name: "interrupted", icon: "pause" },
  error: { name: "error", icon: "alert" },
};

/** Null: the session rests, and nothing is said. */
export const badge = (row: SessionRow): Badge | null => BADGES[row.status];

/** It waits for a person. */
export const waits = (row: SessionRow): boolean =>
  row.status === "waiting_approval" || row.status === "waiting_answer";

const kept: { [W in Which]: (row: SessionRow) => boolean } = {
  all: (row) => !row.archived,
  running: (row) => !row.archived && (row.status === "running" || waits(row)),
  archived: (row) => row.archived,
};

/** The rows of a filter whose title, project or agent has every word of `search`. */
export function filtered(
  rows: readonly SessionRow[],
  which: Which,
  search: string,
  projectName: (id: string) => string = (id) => id,
): SessionRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (!kept[which](row)) return false;
    const text = `${row.title} ${projectName(row.project)} ${row.agent}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The day of the list that `at` belongs to, by the calendar of this machine. */
export function dayOf(at: number, now: number): Day {
  const midnight = new Date(now);
  midnight.setHours(0, 0, 0, 0);
  if (at >= midnight.getTime()) return "today";
  midnight.setDate(midnight.getDate() - 1);
  if (at >= midnight.getTime()) return "yesterday";
  midnight.setDate(midnight.getDate() - 6);
  return at >= midnight.getTime() ? "week" : "older";
}

/** Rows under their days, what is pinned before all of them; both in the order they have; no day is empty. */
export function byDay(rows: readonly SessionRow[], now: number): Group[] {
  const pinned = rows.filter((row) => row.pinned);
  const groups: Group[] = pinned.length ? [{ day: "pinned", rows: pinned }] : [];
  for (const row of rows.filter((row) => !row.pinned)) {
    const day = dayOf(row.updated_at, now);
    const last = groups.at(-1);
    if (last?.day === day) last.rows.push(row);
    else groups.push({ day, rows: [row] });
  }
  return groups;
}

/** The document's title: how many sessions wait for a person, then where one is. */
export function pageTitle(waiting: number, where: string): string {
  const place = where ? `${where} · shipmate` : "shipmate";
  return waiting ? `(${waiting}) ${place}` : place;
}
