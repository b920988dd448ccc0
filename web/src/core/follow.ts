/** Follows a session's event stream for as long as it is wanted, through every cut. */
import { ApiError, call } from "./api";
import { frames, type Frame } from "./sse";

/** `asleep`: the tab is hidden and has given its line back. */
export type Link = "connecting" | "open" | "lost" | "asleep" | "closed";

export interface Follow {
  /** Read anew before each try, like `last`. */
  path: () => string;
  onFrames: (frames: Frame[]) => void;
  onLink: (link: Link) => void;
  /** Asked now and then while asleep. */
  onPoll: () => void;
  /** The server refused for good: 401, 403, 404, 410. */
  onRefused: (error: ApiError) => void;
}

/** Nothing, not even a `keep_alive`, for so long means the line is dead (the server's is 15 s). */
export const DEAD_AFTER = 40_000;
/**
 * A tab that is hidden for so long ends its stream and asks every `POLL` instead: over HTTP/1.1 a
 * browser holds six lines to a server, for all its tabs together.
 */
export const ASLEEP_AFTER = 10_000;
export const POLL = 30_000;
const FIRST_WAIT = 250;
const LONGEST_WAIT = 10_000;

/** Milliseconds before try number `attempt` (from 0), with up to a fifth of jitter. */
export function backoff(attempt: number, random = Math.random()): number {
  const wait = Math.min(FIRST_WAIT * 2 ** attempt, LONGEST_WAIT);
  return Math.round(wait * (1 - 0.2 * random));
}

export class Follower {
  private attempt = 0;
  private abort = new AbortController();
  private wake: () => void = () => undefined;
  private running = true;
  private asleep = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: Follow) {
    document.addEventListener("visibilitychange", this.seen);
    void this.run();
  }

  /** Tries at once: the page became visible, or the machine is online again. */
  nudge(): void {
    this.attempt = 0;
    this.wake();
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.seen);
    clearTimeout(this.timer);
    this.running = false;
    this.abort.abort();
    this.wake();
    this.options.onLink("closed");
  }

  /** The tab was hidden or shown. */
  private readonly seen = (): void => {
    clearTimeout(this.timer);
    if (document.hidden) this.timer = setTimeout(() => this.sleep(), ASLEEP_AFTER);
    else if (this.asleep) {
      this.asleep = false;
      this.nudge();
    }
  };

  private sleep(): void {
    this.asleep = true;
    this.options.onLink("asleep");
    this.abort.abort();
  }

  private async run(): Promise<void> {
    while (this.running) {
      if (this.asleep) {
        await this.pause(POLL);
        if (this.asleep && this.running) this.options.onPoll();
        continue;
      }
      this.options.onLink(this.attempt ? "lost" : "connecting");
      try {
        await this.read();
      } catch (error) {
        if (this.running && refusal(error)) {
          this.running = false;
          this.options.onLink("closed");
          this.options.onRefused(error as ApiError);
        }
      }
      if (!this.running) return;
      if (this.asleep) continue;
      this.options.onLink("lost");
      await this.pause(backoff(this.attempt++));
    }
  }

  private async read(): Promise<void> {
    const abort = (this.abort = new AbortController());
    let timer = setTimeout(() => abort.abort(), DEAD_AFTER);
    try {
      const answer = await call("GET", this.options.path(), undefined, {
        signal: abort.signal,
        cache: "no-store",
      });
      if (!answer.body) return;
      if (this.attempt) this.options.onLink("open"); // the first event may be the keep-alive's, late
      for await (const batch of frames(answer.body)) {
        if (!this.running) return;
        if (this.attempt || batch.length) this.options.onLink("open");
        this.attempt = 0;
        clearTimeout(timer);
        timer = setTimeout(() => abort.abort(), DEAD_AFTER);
        if (batch.length) this.options.onFrames(batch);
      }
    } finally {
      clearTimeout(timer);
      abort.abort();
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const refusal = (error: unknown): boolean =>
  error instanceof ApiError && [401, 403, 404, 410].includes(error.status);
