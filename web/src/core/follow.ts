/** A line that a tab has for itself, where tabs cannot share one; given back while hidden. */
import { call } from "./api";
import type { ApiError } from "./errors";
import { Line, type Link } from "./line";
import type { Frame } from "./sse";

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

/**
 * A tab that is hidden for so long ends its stream and asks every `POLL` instead: over HTTP/1.1 a
 * browser holds six lines to a server, for all its tabs together.
 */
export const ASLEEP_AFTER = 10_000;
export const POLL = 30_000;

export class Follower {
  private line: Line | null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private poll: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly options: Follow) {
    document.addEventListener("visibilitychange", this.seen);
    this.line = this.open();
  }

  nudge(): void {
    this.line?.nudge();
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.seen);
    clearTimeout(this.timer);
    clearInterval(this.poll);
    this.line?.close();
    this.options.onLink("closed");
  }

  private open(): Line {
    const { path, onFrames, onLink, onRefused } = this.options;
    return new Line({
      open: (signal) => call("GET", path(), undefined, { signal, cache: "no-store" }),
      onFrames,
      onLink,
      onRefused: (error) => {
        document.removeEventListener("visibilitychange", this.seen);
        clearTimeout(this.timer);
        onRefused(error);
      },
    });
  }

  /** The tab was hidden or shown. */
  private readonly seen = (): void => {
    clearTimeout(this.timer);
    if (document.hidden) this.timer = setTimeout(() => this.sleep(), ASLEEP_AFTER);
    else if (!this.line) {
      clearInterval(this.poll);
      this.line = this.open();
    }
  };

  private sleep(): void {
    if (!this.line) return;
    this.line.close();
    this.line = null;
    this.options.onLink("asleep");
    this.poll = setInterval(() => this.options.onPoll(), POLL);
  }
}
