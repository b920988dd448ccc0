/** Words looked for in all conversations, on the server. */
import { api, got } from "./api";
import type { components } from "./api.gen";

export type SearchHit = components["schemas"]["SearchHit"];
export type SessionHit = components["schemas"]["SessionHit"];
type Indexing = components["schemas"]["Indexing"];

export const ROLES = ["user", "assistant", "tool", "system"] as const;
/** How far back, in days; 0: whenever. */
export const TIMES = [0, 1, 7, 30, 365] as const;
const TYPING = 200;
const AGAIN = 2000;
const DAY = 86_400_000;
const TITLES = 5;

export class Search {
  words = $state("");
  project = $state("");
  role = $state<"" | (typeof ROLES)[number]>("");
  days = $state(0);
  order = $state<"best" | "newest">("best");
  hits = $state.raw<readonly SearchHit[]>([]);
  /** Conversations whose titles have the words. */
  titles = $state.raw<readonly SessionHit[]>([]);
  cursor = $state("");
  indexing = $state.raw<Indexing | null>(null);
  busy = $state(false);
  error = $state("");
  /** What the hits are of: nothing is said of words that were not looked for yet. */
  searched = $state("");
  private timer: ReturnType<typeof setTimeout> | undefined;
  private number = 0;

  /** The words changed: asked for when the typing pauses. */
  typed(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.search(), TYPING);
  }

  close(): void {
    clearTimeout(this.timer);
    this.number += 1;
  }

  async search(): Promise<void> {
    clearTimeout(this.timer);
    const words = this.words.trim();
    const number = ++this.number;
    this.error = "";
    if (!words) return this.clear();
    this.busy = true;
    try {
      const query = this.query(words);
      const [found, named] = await Promise.all([
        got(api.GET("/api/agent/search", { params: { query: { ...query, order: this.order } } })),
        got(api.GET("/api/agent/search/sessions", { params: { query: { ...query, limit: TITLES } } })),
      ]);
      if (number !== this.number) return;
      this.hits = found.hits as SearchHit[];
      this.cursor = found.cursor;
      this.titles = (named.sessions as SessionHit[]).filter(({ marks }) => marks.length);
      this.indexing = found.indexing;
      this.searched = words;
      if (this.indexing) this.timer = setTimeout(() => void this.search(), AGAIN);
    } catch (failure) {
      if (number === this.number) this.error = (failure as Error).message;
    }
    if (number === this.number) this.busy = false;
  }

  async more(): Promise<void> {
    const number = this.number;
    const query = { ...this.query(this.searched), order: this.order, cursor: this.cursor };
    this.busy = true;
    try {
      const found = await got(api.GET("/api/agent/search", { params: { query } }));
      if (number !== this.number) return;
      this.hits = [...this.hits, ...(found.hits as SearchHit[])];
      this.cursor = found.cursor;
    } catch (failure) {
      this.error = (failure as Error).message;
    }
    this.busy = false;
  }

  private clear(): void {
    this.hits = [];
    this.titles = [];
    this.cursor = "";
    this.searched = "";
    this.busy = false;
  }

  private query(q: string) {
    const since = this.days ? Date.now() - this.days * DAY : 0;
    return { q, project: this.project, role: this.role, since } as const;
  }
}

/** A text cut where marks begin and end. */
export function cutAt(
  text: string,
  marks: readonly (readonly [number, number])[],
): { text: string; hit: boolean }[] {
  const parts: { text: string; hit: boolean }[] = [];
  let end = 0;
  for (const [from, to] of marks) {
    parts.push({ text: text.slice(end, from), hit: false }, { text: text.slice(from, to), hit: true });
    end = to;
  }
  parts.push({ text: text.slice(end), hit: false });
  return parts.filter((part) => part.text);
}
