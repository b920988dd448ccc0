/** Words looked for in a whole session, on the server; each hit opens at its place. */
import { api, got } from "./api";
import type { components } from "./api.gen";

export type Hit = components["schemas"]["Hit"];

const TYPING = 200;
const WINDOW = 500;

export class Finder {
  shown = $state(false);
  /** Rises when the field is asked for again: it takes the focus. */
  asked = $state(0);
  words = $state("");
  hits = $state.raw<readonly Hit[]>([]);
  total = $state(0);
  /** Place in `hits`; the last one is the newest. */
  at = $state(0);
  busy = $state(false);
  /** What the hits are of: nothing is said of words that were not looked for yet. */
  searched = $state("");
  error = $state("");
  private timer: ReturnType<typeof setTimeout> | undefined;
  private number = 0;

  constructor(
    private readonly session: string,
    private readonly open: (hit: Hit) => void,
  ) {}

  readonly hit = $derived.by(() => this.hits[this.at]);

  show(): void {
    this.shown = true;
    this.asked += 1;
  }

  close(): void {
    clearTimeout(this.timer);
    this.number += 1;
    this.shown = false;
    this.busy = false;
    this.hits = [];
    this.total = 0;
    this.searched = "";
    this.words = "";
  }

  /** The words changed: asked for when the typing pauses. */
  typed(words: string): void {
    this.words = words;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.search(), TYPING);
  }

  async search(): Promise<void> {
    clearTimeout(this.timer);
    const words = this.words.trim();
    const number = ++this.number;
    if (!words) return this.took([], 0, "");
    this.busy = true;
    try {
      const found = await this.ask(words, 0);
      if (number === this.number) this.took(found.hits, found.total, words);
    } catch (failure) {
      if (number === this.number) this.error = (failure as Error).message;
    }
    if (number === this.number) this.busy = false;
  }

  /** -1: to the older hit, 1: to the newer; round at the ends. */
  async step(by: 1 | -1): Promise<void> {
    if (this.words.trim() !== this.searched) return this.search();
    if (!this.hits.length) return;
    if (this.at === 0 && by === -1) await this.older();
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    if (this.hit) this.open(this.hit);
  }

  /** The window before the hits that are here. */
  private async older(): Promise<void> {
    if (this.hits.length >= this.total) return;
    const number = this.number;
    const { hits } = await this.ask(this.searched, this.hits[0]!.pos);
    if (number !== this.number) return;
    this.hits = [...hits, ...this.hits];
    this.at += hits.length;
  }

  private took(hits: readonly Hit[], total: number, words: string): void {
    this.error = "";
    this.hits = hits;
    this.total = total;
    this.searched = words;
    this.at = Math.max(0, hits.length - 1);
    if (this.hit) this.open(this.hit);
  }

  private ask(q: string, before: number): Promise<{ hits: Hit[]; total: number }> {
    const params = { path: { id: this.session }, query: { q, before, limit: WINDOW } };
    return got(api.GET("/api/agent/sessions/{id}/find", { params })) as Promise<{
      hits: Hit[];
      total: number;
    }>;
  }
}
