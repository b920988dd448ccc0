/** The issues that the picker offers: page after page while it is open, searched as one types. */
import { filtered, issues, merged, type Item, type State } from "../core/github";

/** So many are kept at hand; of more, GitHub is asked for what is searched. */
export const MOST = 5000;
const PAUSE_MS = 300;

export class Picking {
  items = $state.raw<readonly Item[]>([]);
  loading = $state(true);
  error = $state.raw<Error | null>(null);
  search = $state("");
  /** Nothing is asked for any more: the picker was closed. */
  private closed = false;
  private cursor = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly project: string,
    readonly state: State,
  ) {
    void this.load();
  }

  readonly found = $derived.by(() => filtered(this.items, this.search));

  /** All pages, one after the other; without a token GitHub gives few a hour, so only the first. */
  async load(): Promise<void> {
    [this.loading, this.error] = [true, null];
    try {
      do {
        const page = await issues(this.project, { state: this.state, cursor: this.cursor });
        if (this.closed) return;
        this.items = merged([...this.items, ...page.items]);
        this.cursor = page.cursor;
        if ((page.rate?.limit ?? 0) < 1000) break;
      } while (this.cursor && this.items.length < MOST);
    } catch (failure) {
      this.error = failure as Error;
    }
    this.loading = false;
  }

  /** What is not at hand is asked for a moment after the last key. */
  type(text: string): void {
    this.search = text;
    clearTimeout(this.timer);
    if (text.trim() && this.cursor) this.timer = setTimeout(() => void this.ask(text.trim()), PAUSE_MS);
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private async ask(search: string): Promise<void> {
    try {
      const page = await issues(this.project, { state: this.state, search });
      if (!this.closed) this.items = merged([...this.items, ...page.items]);
    } catch (failure) {
      this.error = failure as Error;
    }
  }
}
