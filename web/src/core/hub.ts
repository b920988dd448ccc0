/**
 * One line to the server for all tabs of a browser: over HTTP/1.1 it holds six to a server. Runs
 * in a SharedWorker (`hub.worker.ts`).
 *
 * The line carries every session that a tab watches, each from the lowest place a tab is at. When
 * a tab comes, or no tab watches a session any more, a new line is opened, and the one before it
 * goes on until the new one has caught up and `OVERLAP` has passed. A tab is given the frames of
 * those lines only that were opened with it, so what it has is always without a gap; a block that
 * it has is not sent to it again, and what a stream said twice it knows by its offset.
 */
import { ApiError, failure } from "./errors";
import { Line, type Link } from "./line";
import { parseId, type Frame } from "./sse";

export type ToHub =
  | { type: "watch"; session: string; seq: number; epoch: string; token: string }
  | { type: "leave" }
  | { type: "nudge" }
  | { type: "pong" };

export type ToTab =
  | { type: "frames"; frames: Frame[] }
  | { type: "link"; link: Link }
  | { type: "refused"; status: number; code: string; detail: string }
  | { type: "ping" }
  /** It was taken for closed: it must say again what it watches. */
  | { type: "gone" };

/** The way to a tab. */
export interface Tab {
  postMessage(message: ToTab): void;
}

interface Watch {
  /** Empty: the rows of all sessions and what waits in them, which every tab gets. */
  session: string;
  /** The place the tab is at. */
  seq: number;
  epoch: string;
  /** Pings without an answer. */
  unanswered: number;
}

interface Wire {
  line: Line;
  tabs: Set<Tab>;
  sessions: Set<string>;
  open: boolean;
}

/** Tabs that come together share one new line. */
export const GATHER = 20;
export const OVERLAP = 1000;
export const PING = 20_000;
/** A tab that is closed says so; one that crashed leaves this many pings unanswered. */
export const UNANSWERED = 3;

export class Hub {
  private readonly watches = new Map<Tab, Watch>();
  private wire: Wire | null = null;
  /** The line that `wire` takes the place of. */
  private former: Wire | null = null;
  private token = "";
  private gathering: ReturnType<typeof setTimeout> | undefined;
  private overlap: ReturnType<typeof setTimeout> | undefined;
  private pings: ReturnType<typeof setInterval> | undefined;

  hear(tab: Tab, message: ToHub): void {
    const watch = this.watches.get(tab);
    switch (message.type) {
      case "watch":
        return this.watch(tab, message);
      case "leave":
        return this.leave(tab);
      case "nudge":
        this.wire?.line.nudge();
        tab.postMessage({ type: "ping" }); // it asks whether anyone is here
    }
    if (watch) watch.unanswered = 0;
    else tab.postMessage({ type: "gone" });
  }

  private watch(tab: Tab, asked: ToHub & { type: "watch" }): void {
    const { session, seq, epoch, token } = asked;
    this.leave(tab);
    this.token = token;
    this.watches.set(tab, { session, seq, epoch, unanswered: 0 });
    this.pings ??= setInterval(() => this.ping(), PING);
    this.gather();
  }

  private leave(tab: Tab): void {
    if (!this.watches.delete(tab)) return;
    this.wire?.tabs.delete(tab);
    this.former?.tabs.delete(tab);
    this.gather();
  }

  private ping(): void {
    for (const [tab, watch] of this.watches) {
      if (watch.unanswered >= UNANSWERED) this.leave(tab);
      else {
        watch.unanswered += 1;
        tab.postMessage({ type: "ping" });
      }
    }
  }

  private gather(): void {
    this.gathering ??= setTimeout(() => {
      this.gathering = undefined;
      this.connect();
    }, GATHER);
  }

  /** Opens a line for the tabs there are now, where the present one does not do. */
  private connect(): void {
    if (!this.watches.size) return this.end();
    const wanted = new Set([...this.watches.values()].map((w) => w.session).filter(Boolean));
    const wire = this.wire;
    const served = wire && [...this.watches.keys()].every((tab) => wire.tabs.has(tab));
    if (served && [...wire.sessions].every((session) => wanted.has(session))) return;
    if (wire?.open) {
      this.retire();
      this.former = wire;
    } else wire?.line.close();
    this.wire = this.open(wanted);
  }

  private open(sessions: Set<string>): Wire {
    const tabs = new Set(this.watches.keys());
    const wire: Wire = { tabs, sessions, open: false, line: null as never };
    wire.line = new Line({
      quiet: sessions.size === 0,
      open: (signal) => this.ask(wire, signal),
      onFrames: (batch) => this.spread(wire, batch),
      onLink: (link) => this.linked(wire, link),
      onRefused: (error) => this.refused(error),
    });
    return wire;
  }

  private async ask(wire: Wire, signal: AbortSignal): Promise<Response> {
    const headers = this.token ? { "X-Shipmate-Token": this.token } : {};
    const answer = await fetch(this.path(wire), { signal, headers, cache: "no-store" });
    if (!answer.ok) throw await failure(answer);
    return answer;
  }

  private path(wire: Wire): string {
    const places = new Map<string, number>();
    for (const tab of wire.tabs) {
      const { session, seq } = this.watches.get(tab)!;
      if (session) places.set(session, Math.min(seq, places.get(session) ?? seq));
    }
    const named = [...places].map(([session, seq]) => `${session}:${seq}`).join(",");
    return `/api/agent/events?rows=true${named && `&sessions=${named}`}`;
  }

  private spread(wire: Wire, batch: Frame[]): void {
    for (const tab of wire.tabs) {
      const watch = this.watches.get(tab)!;
      const frames = batch.filter((frame) => this.isFor(watch, frame, wire === this.former));
      if (frames.length) tab.postMessage({ type: "frames", frames });
    }
  }

  /** Whether a frame is for a tab, whose place it moves. */
  private isFor(watch: Watch, { id, event }: Frame, former: boolean): boolean {
    const type: string = event.type;
    if (type === "keep_alive") return false;
    if (type === "session_deleted") return true;
    // The new line has told how things stand; what the former says of that may be older.
    if (former && (type === "session" || type === "queue" || type === "pending")) return false;
    if (type === "session" || type === "pending") return true;
    if (event.session !== watch.session) return false;
    const place = parseId(id);
    if (!place) return true;
    if (place.epoch === watch.epoch && place.seq <= watch.seq) return false;
    watch.seq = place.seq;
    watch.epoch = place.epoch;
    return true;
  }

  private linked(wire: Wire, link: Link): void {
    if (link === "connecting" || link === "closed") return;
    if (link === "open" && wire.open) return;
    wire.open = link === "open";
    for (const tab of wire.tabs) tab.postMessage({ type: "link", link });
    if (wire === this.former) this.retire(); // it was lost
    else if (wire.open) this.overlap = setTimeout(() => this.retire(), OVERLAP);
  }

  /** Ends the line that was replaced. */
  private retire(): void {
    clearTimeout(this.overlap);
    this.former?.line.close();
    this.former = null;
  }

  private end(): void {
    this.retire();
    this.wire?.line.close();
    this.wire = null;
    clearInterval(this.pings);
    this.pings = undefined;
  }

  /** Every tab is told, and says anew what it watches once someone has signed in. */
  private refused({ status, code, message: detail }: ApiError): void {
    const tabs = [...this.watches.keys()];
    this.watches.clear();
    this.end();
    for (const tab of tabs) tab.postMessage({ type: "refused", status, code, detail });
  }
}
