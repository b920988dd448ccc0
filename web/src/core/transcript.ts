/** A session as the browser knows it: blocks by place, and what is being streamed. */
import { GrowingText } from "./growing";
import {
  isBlock,
  type AnyBlock,
  type Delta,
  type Done,
  type Queued,
  type Event,
  type Progress,
  type Retry,
  type SessionRow,
  type StreamStart,
  type Transient,
  waits,
} from "./protocol";
import { parseId } from "./sse";

/** A message that is being written. */
export interface Live {
  id: string;
  agent: string;
  model: string;
  parent: string;
  text: GrowingText;
  reasoning: GrowingText;
  /** ms since 1970 when it began here, and when its first word of text came (0: not yet). */
  began: number;
  spoke: number;
  retry: Retry | null;
}

export interface Snapshot {
  session: SessionRow;
  /** The newest blocks, ascending by `pos`. */
  blocks: AnyBlock[];
  /** Blocks that wait for the user, whether in the window or not. */
  pending: AnyBlock[];
  epoch: string;
  last_seq: number;
  live: { id: string; text: string; reasoning: string; agent: string; model: string; parent?: string }[];
  /** Whether there are older blocks than the window's. */
  more: boolean;
}

/** `resync`: something was missed that only a fresh snapshot can give. */
export type Applied = "same" | "stream" | "blocks" | "resync" | "deleted";

export class Transcript {
  blocks: AnyBlock[] = [];
  lives = new Map<string, Live>();
  row: SessionRow | null = null;
  done: Done | null = null;
  queued: readonly Queued[] = [];
  /** How far calls are that run elsewhere, by their ids. */
  progress = new Map<string, Progress>();
  epoch = "";
  seq = 0;
  more = false;
  /** Rises when files may have changed: a call wrote some, or a round ended. */
  writes = 0;
  private ids = new Map<string, AnyBlock>();
  /** Streams of which pieces were missed. */
  private missed = new Set<string>();

  constructor(private readonly now: () => number = Date.now) {}

  get(id: string): AnyBlock | undefined {
    return this.ids.get(id);
  }

  /** Takes a snapshot; older pages stay when it joins on to what is here. */
  load(snapshot: Snapshot): void {
    const newest = this.blocks.at(-1)?.pos ?? 0;
    const joins = snapshot.epoch === this.epoch && (snapshot.blocks[0]?.pos ?? 0) <= newest + 1;
    if (!joins) {
      this.ids.clear();
      this.more = snapshot.more;
    }
    for (const block of [...snapshot.pending, ...snapshot.blocks]) {
      const known = this.ids.get(block.id);
      if (!known || known.seq < block.seq) this.ids.set(block.id, block);
    }
    this.blocks = [...this.ids.values()].sort(byPlace);
    this.row = snapshot.session;
    this.epoch = snapshot.epoch;
    this.seq = joins ? Math.max(this.seq, snapshot.last_seq) : snapshot.last_seq;
    this.done = null;
    this.writes += 1;
    const before = this.lives;
    this.lives = new Map();
    for (const live of snapshot.live) {
      if (this.ids.has(live.id)) continue;
      const begun = this.begin({ type: "stream_start", ...live }, before.get(live.id));
      this.missed.delete(live.id);
      begun.text.add(live.text.slice(begun.text.length));
      begun.reasoning.add(live.reasoning.slice(begun.reasoning.length));
      if (live.text) begun.spoke ||= begun.began;
    }
  }

  /** An older page: blocks before those that are here. */
  prepend(blocks: AnyBlock[], more: boolean): void {
    const fresh = blocks.filter((block) => !this.ids.has(block.id));
    for (const block of fresh) this.ids.set(block.id, block);
    this.blocks = [...fresh, ...this.blocks].sort(byPlace);
    this.more = more;
  }

  /** Place of the oldest block of the loaded window (pending ones from before it left out). */
  oldest(): number {
    const settled = this.blocks.find((b) => !waits(b)) ?? this.blocks[0];
    return settled?.pos ?? 0;
  }

  /** Takes one event; applying it again changes nothing. */
  apply(event: Event, id = ""): Applied {
    const place = parseId(id);
    if (place && this.epoch && place.epoch !== this.epoch) return "resync";
    if (!isBlock(event)) return this.transient(event);
    if (place) this.seq = Math.max(this.seq, place.seq);
    return this.put(event);
  }

  private put(block: AnyBlock): Applied {
    const known = this.ids.get(block.id);
    if (known && known.seq >= block.seq) return "same";
    this.ids.set(block.id, block);
    this.lives.delete(block.id);
    if (block.type === "user") this.done = null;
    if (block.type === "tool_result" && block.written.length) this.writes += 1;
    const index = known ? this.blocks.indexOf(known) : -1;
    if (index >= 0) this.blocks = this.blocks.with(index, block);
    else this.blocks = inserted(this.blocks, block);
    return "blocks";
  }

  private transient(event: Transient): Applied {
    switch (event.type) {
      case "stream_start":
        if (this.ids.has(event.id) || this.lives.has(event.id)) return "same";
        this.begin(event);
        return "blocks";
      case "delta":
        return this.grow(event);
      case "stream_end":
      case "keep_alive":
      case "pending": // the inbox takes it
        return "same"; // the message block that follows takes the stream's place
      case "retry":
        return this.retried(event);
      case "progress":
        if (!this.ids.has(event.id)) return "same";
        this.progress.set(event.id, event);
        return "blocks";
      case "session":
        if ((this.row?.updated_at ?? 0) > event.row.updated_at) return "same";
        this.row = event.row;
        return "blocks";
      case "queue":
        this.queued = event.items ?? [];
        return "blocks";
      case "session_deleted":
        return "deleted";
      case "done":
        this.done = event;
        this.progress.clear();
        this.lives.clear();
        return "blocks";
    }
  }

  /** `known`: what is here of it already; whoever shows it has taken its pieces so far. */
  private begin(start: StreamStart, known?: Live): Live {
    const { id, agent = "", model = "", parent = "" } = start;
    const said = { text: new GrowingText(), reasoning: new GrowingText() };
    const live = known ?? { id, agent, model, parent, ...said, began: this.now(), spoke: 0, retry: null };
    this.done = null;
    this.lives.set(id, live);
    return live;
  }

  private grow(delta: Delta): Applied {
    const live = this.lives.get(delta.id);
    if (!live) return this.ids.has(delta.id) ? "same" : this.missing(delta.id);
    const field = delta.text ? "text" : "reasoning";
    const piece = delta[field] ?? "";
    const have = live[field].length;
    if (delta.offset > have) return this.missing(delta.id);
    const fresh = piece.slice(have - delta.offset);
    if (!fresh) return "same";
    const first = live[field].length === 0;
    live[field].add(fresh);
    live.retry = null;
    if (first && field === "text") live.spoke = this.now();
    return first ? "blocks" : "stream";
  }

  /** One snapshot is asked for; what that did not bring is left to the message's block. */
  private missing(id: string): Applied {
    if (this.missed.has(id)) return "same";
    this.missed.add(id);
    return "resync";
  }

  private retried(event: Retry): Applied {
    const live = this.lives.get(event.id);
    if (!live) this.begin({ type: "stream_start", id: event.id });
    this.lives.get(event.id)!.retry = event;
    return "blocks";
  }
}

const byPlace = (a: AnyBlock, b: AnyBlock): number => a.pos - b.pos;

function inserted(blocks: AnyBlock[], block: AnyBlock): AnyBlock[] {
  let index = blocks.length;
  while (index > 0 && blocks[index - 1]!.pos > block.pos) index--;
  return blocks.toSpliced(index, 0, block);
}
