/** One line to the server: an event stream that is opened again through every cut. */
import { ApiError } from "./errors";
import { frames, type Frame } from "./sse";

/** `asleep`: the tab is hidden and has given its line back. */
export type Link = "connecting" | "open" | "lost" | "asleep" | "closed";

export interface LineOptions {
  /** Asks for the stream; called anew before each try. An answer but 2xx is an `ApiError`. */
  open: (signal: AbortSignal) => Promise<Response>;
  /** It may have nothing to say at first: it is open as soon as it is answered. */
  quiet?: boolean;
  onFrames: (frames: Frame[]) => void;
  onLink: (link: Link) => void;
  /** The server refused for good: 401, 403, 404, 410. */
  onRefused: (error: ApiError) => void;
}

/** Nothing, not even a `keep_alive`, for so long means the line is dead (the server's is 15 s). */
export const DEAD_AFTER = 40_000;
const FIRST_WAIT = 250;
const LONGEST_WAIT = 10_000;

/** Milliseconds before try number `attempt` (from 0), with up to a fifth of jitter. */
export function backoff(attempt: number, random = Math.random()): number {
  const wait = Math.min(FIRST_WAIT * 2 ** attempt, LONGEST_WAIT);
  return Math.round(wait * (1 - 0.2 * random));
}

export class Line {
  private attempt = 0;
  private abort = new AbortController();
  private wake: () => void = () => undefined;
  private running = true;

  constructor(private readonly options: LineOptions) {
    void this.run();
  }

  /** Tries at once: the page became visible, or the machine is online again. */
  nudge(): void {
    this.attempt = 0;
    this.wake();
  }

  /** Ends it; nothing is told any more. */
  close(): void {
    this.running = false;
    this.abort.abort();
    this.wake();
  }

  private async run(): Promise<void> {
    while (this.running) {
      this.options.onLink(this.attempt ? "lost" : "connecting");
      let asked = 0;
      try {
        await this.read();
      } catch (error) {
        if (error instanceof ApiError) asked = error.wait * 1000;
        if (this.running && refusal(error)) {
          this.running = false;
          this.options.onLink("closed");
          this.options.onRefused(error as ApiError);
        }
      }
      if (!this.running) return;
      this.options.onLink("lost");
      await this.pause(Math.max(backoff(this.attempt++), asked));
    }
  }

  private async read(): Promise<void> {
    const abort = (this.abort = new AbortController());
    let timer = setTimeout(() => abort.abort(), DEAD_AFTER);
    try {
      const answer = await this.options.open(abort.signal);
      if (!answer.body || !this.running) return;
      // The first event may be the keep-alive's, late.
      if (this.attempt || this.options.quiet) this.options.onLink("open");
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
