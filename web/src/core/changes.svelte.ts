/** What a session changed, as the server computes it: sums for the header, lines for the drawer. */
import { api, got } from "./api";
import type { components } from "./api.gen";

export type Changes = components["schemas"]["Changes"];
export type ChangedFile = components["schemas"]["ChangedFile"];

/** Several writes in a row are asked about once. */
const AFTER_MS = 400;

export class SessionChanges {
  /** Without lines, of the whole session. */
  sums = $state.raw<Changes | null>(null);
  /** With lines, of `round`. */
  shown = $state.raw<Changes | null>(null);
  /** Id of the message that began a round; empty: the whole session. */
  round = $state("");
  error = $state("");
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = 0;

  constructor(private readonly id: string) {}

  /** Files may have changed. `lines`: they are in view. */
  stale(lines: boolean): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void (lines ? this.load() : this.sum()), AFTER_MS);
  }

  close(): void {
    clearTimeout(this.timer);
  }

  async choose(round: string): Promise<void> {
    this.round = round;
    this.shown = null;
    await this.load();
  }

  async load(): Promise<void> {
    const mine = ++this.asked;
    try {
      const found = await this.get(this.round, false);
      if (mine !== this.asked) return;
      this.shown = found;
      this.error = "";
      if (!this.round) this.sums = found;
      else await this.sum();
    } catch (failure) {
      if (mine === this.asked) this.error = (failure as Error).message;
    }
  }

  /** The header does without when they cannot be had; the drawer says why. */
  private async sum(): Promise<void> {
    this.sums = await this.get("", true).catch(() => null);
  }

  private get(round: string, brief: boolean): Promise<Changes> {
    const params = { path: { id: this.id }, query: { round, brief } };
    return got(api.GET("/api/agent/sessions/{id}/changes", { params }));
  }
}
