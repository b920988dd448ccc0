/** What waits for the user over all sessions, kept current by the line of the browser. */
import { api, got } from "./api";
import { pending, type Event, type Pending } from "./protocol";
import { told } from "./notify.svelte";

export interface Item {
  session: string;
  block: Pending;
}

class Inbox {
  items = $state.raw<readonly Item[]>([]);
  loaded = $state(false);
  /** Why it could not be read; empty when it could. */
  error = $state("");
  /** Rises with what the line tells: an answer that was asked for before that is older. */
  private heard_ = 0;

  async load(): Promise<void> {
    const asked = this.heard_;
    try {
      const { waiting } = await got(api.GET("/api/agent/pending"));
      if (asked !== this.heard_) return void this.load();
      this.items = oldestFirst(
        waiting.flatMap(({ session, items }) =>
          pending(items).map((block) => ({ session: session.id, block })),
        ),
      );
      this.error = "";
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
  }

  heard(event: Event): void {
    if (event.type === "session_deleted" && event.session) this.put(event.session, []);
    if (event.type === "pending") this.put(event.session, event.items);
  }

  private put(session: string, blocks: readonly Pending[]): void {
    this.heard_ += 1;
    const known = new Set(this.items.map(({ block }) => block.id));
    const fresh = blocks.filter((block) => !known.has(block.id));
    const others = this.items.filter((item) => item.session !== session);
    this.items = oldestFirst([...others, ...blocks.map((block) => ({ session, block }))]);
    for (const block of fresh) told(session, block);
  }
}

const oldestFirst = (items: readonly Item[]): Item[] =>
  [...items].sort((a, b) => a.block.at - b.block.at || (a.block.id < b.block.id ? -1 : 1));

export const inbox = new Inbox();
