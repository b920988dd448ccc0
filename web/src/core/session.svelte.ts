/** The session that is open: its transcript, kept current by the event stream. */
import { ApiError } from "./api";
import { SessionChanges } from "./changes.svelte";
import { snapshot, stop, WINDOW } from "./commands";
import { hear, refresh } from "./facts";
import { Folds } from "./folds.svelte";
import { inbox } from "./inbox.svelte";
import type { Link } from "./line";
import type { AnyBlock, Event, Progress, User } from "./protocol";
import { toRows, type Row } from "./rows";
import { sessions } from "./sessions.svelte";
import type { Frame } from "./sse";
import { Transcript } from "./transcript";
import { watch, type Watching } from "./watch";

/** An event that is not of session `id`; events without a session are for everyone. */
const ofOther = (event: Event, id: string): boolean =>
  (event.type === "session" ? event.row.id : event.session || id) !== id;

export interface Sought {
  block: string;
  pos: number;
}
/** Blocks of a window on the way to a place far above. */
const FAR = 1000;

export type Phase = "loading" | "ready" | "missing" | "error";

export class OpenSession {
  readonly folds: Folds;
  readonly changes: SessionChanges;
  phase = $state<Phase>("loading");
  /** Why it could not be read, in the server's words. */
  error = $state("");
  link = $state<Link>("connecting");
  /** Rises when rows may differ; `pulse` rises when only streamed text grew. */
  structure = $state(0);
  pulse = $state(0);
  /** The message of the user that is written anew, to be said in a branch. */
  editing = $state.raw<User | null>(null);
  stopping = $state(false);
  loadingOlder = $state(false);
  /** Rows were just added above: the list keeps its place from the end. */
  shift = $state(false);

  /** A place that is to be shown: the thread goes there. */
  sought = $state.raw<Sought | null>(null);

  private readonly transcript = new Transcript();
  private follower: Watching | null = null;
  private queue: Frame[] = [];
  private scheduled = false;
  private closed = false;
  private loading = false;
  private wasLost = false;
  private seeking: Sought | null = null;

  constructor(readonly id: string) {
    this.folds = new Folds(id);
    this.changes = new SessionChanges(id);
    void this.load();
  }

  readonly rows: readonly Row[] = $derived.by(() => {
    void this.structure;
    const { blocks, lives, row } = this.transcript;
    return toRows({ blocks, lives: [...lives.values()], row });
  });

  readonly row = $derived.by(() => (void this.structure, this.transcript.row));
  /** What waits to be said, the next first. */
  readonly queued = $derived.by(() => (void this.structure, this.transcript.queued));
  /** How far a call is that runs elsewhere. */
  progress(call: string): Progress | undefined {
    return void this.structure, this.transcript.progress.get(call);
  }
  readonly writes = $derived.by(() => (void this.structure, this.transcript.writes));
  readonly more = $derived.by(() => (void this.structure, this.transcript.more));

  /** Reads a snapshot. What the stream brings meanwhile waits, and is applied on top of it. */
  async load(): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    try {
      const fresh = await snapshot(this.id);
      if (this.closed) return;
      this.transcript.load(fresh);
      this.changed();
      this.phase = "ready";
      this.follower ??= this.follow();
    } catch (error) {
      this.failed(error as Error);
    } finally {
      this.loading = false;
      if (this.queue.length) this.schedule();
    }
  }

  /** The page before the oldest block that is here. */
  async older(limit = WINDOW): Promise<void> {
    if (this.loadingOlder || !this.transcript.more) return;
    this.loadingOlder = true;
    try {
      const page = await snapshot(this.id, this.transcript.oldest(), limit);
      this.shift = true;
      this.transcript.prepend(page.blocks, page.more);
      this.structure += 1;
    } finally {
      this.loadingOlder = false;
    }
  }

  block(id: string): AnyBlock | undefined {
    return this.transcript.get(id);
  }

  /** Goes to a block: reads what is between it and what is here, then the thread shows it. */
  async seek(wanted: Sought): Promise<void> {
    this.seeking = wanted;
    while (this.seeking === wanted && this.transcript.more && this.transcript.oldest() > wanted.pos) {
      if (this.loadingOlder) await new Promise(requestAnimationFrame);
      else await this.older(FAR);
    }
    if (this.seeking === wanted) this.sought = { ...wanted };
  }

  async stop(): Promise<void> {
    this.stopping = true;
    try {
      await stop(this.id);
    } catch (error) {
      this.stopping = false;
      throw error;
    }
  }

  nudge(): void {
    this.follower?.nudge();
  }

  close(): void {
    this.closed = true;
    this.changes.close();
    this.follower?.close();
  }

  /** This session whole, and the rows of all others for the list. */
  private follow(): Watching {
    return watch({
      session: this.id,
      place: () => ({ seq: this.transcript.seq, epoch: this.transcript.epoch }),
      onFrames: (batch) => this.take(batch),
      onLink: (link) => this.linked(link),
      onPoll: refresh,
      onRefused: (error) => {
        this.follower = null; // after a new sign-in, `load` follows again
        this.failed(error);
      },
    });
  }

  /** A line that comes back missed what is not kept, the state of the session among it. */
  private linked(link: Link): void {
    if (link === "lost" || link === "asleep") this.wasLost = true;
    if (link === "open") void inbox.load(); // a line does not tell at its start what waits
    if (link === "open" && this.wasLost) {
      this.wasLost = false;
      void this.load();
      void sessions.load();
    }
    this.link = link;
  }

  private failed(error: Error): void {
    const status = error instanceof ApiError ? error.status : undefined;
    if (this.phase === "ready" && status === 0) {
      this.wasLost = true; // the line is down as well, and brings a new try with it
      return;
    }
    this.error = error.message;
    this.phase = status === 404 ? "missing" : "error";
  }

  /** What one frame of the screen brings is applied at once; hidden tabs draw no frames. */
  private take(batch: Frame[]): void {
    this.queue.push(...batch);
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    if (document.hidden) setTimeout(() => this.flush(), 100);
    else requestAnimationFrame(() => this.flush());
  }

  private flush(): void {
    this.scheduled = false;
    if (this.loading) return;
    const batch = this.queue;
    this.queue = [];
    let [structure, stream] = [false, false];
    for (const { event, id } of batch) {
      if (ofOther(event, this.id) || event.type === "pending") {
        hear(event);
        continue;
      }
      const applied = this.transcript.apply(event, id);
      if (applied === "resync") return void this.load();
      if (applied === "deleted") return this.deleted();
      structure ||= applied === "blocks";
      stream ||= applied === "stream";
    }
    if (structure) this.changed();
    else if (stream) this.pulse += 1;
  }

  private changed(): void {
    const row = this.transcript.row;
    if (row) sessions.put(row);
    if (row?.status !== "running") this.stopping = false;
    this.shift = false;
    this.structure += 1;
    this.pulse += 1;
  }

  private deleted(): void {
    sessions.drop(this.id);
    this.phase = "missing";
  }
}
