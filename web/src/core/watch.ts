/** Watching a session, or only the rows of all, over the line that all tabs share. */
import { auth } from "./auth.svelte";
import { ApiError } from "./errors";
import { Follower } from "./follow";
import type { ToHub, ToTab } from "./hub";
import hubUrl from "./hub.worker.ts?worker&url";
import type { Link } from "./line";
import type { Frame } from "./sse";
import { ownSharedWorker } from "./workers";

export interface Watch {
  /** Empty: the rows of all sessions only. */
  session: string;
  /** Where the tab is in it, read anew whenever it has to be said. */
  place: () => { seq: number; epoch: string };
  onFrames: (frames: Frame[]) => void;
  onLink: (link: Link) => void;
  /** Asked now and then while a tab with a line of its own is asleep. */
  onPoll: () => void;
  /** The server refused for good: 401, 403, 404, 410. */
  onRefused: (error: ApiError) => void;
}

export interface Watching {
  /** Tries at once: the page became visible, or the machine is online again. */
  nudge(): void;
  close(): void;
}

/** The shared line where the browser has SharedWorker (Chrome on Android has not). */
export function watch(asked: Watch): Watching {
  return typeof SharedWorker === "function" ? new Shared(asked) : own(asked);
}

function own(asked: Watch): Follower {
  const place = asked.session ? () => `&sessions=${asked.session}:${asked.place().seq}` : () => "";
  return new Follower({ ...asked, path: () => `/api/agent/events?rows=true${place()}` });
}

/** A worker that does not answer for so long is none: the tab takes a line of its own. */
export const SILENT = 10_000;

class Shared implements Watching {
  private readonly worker = ownSharedWorker(hubUrl);
  private own: Follower | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly asked: Watch) {
    this.worker.port.onmessage = ({ data }: MessageEvent<ToTab>) => this.hear(data);
    this.worker.onerror = () => this.alone();
    addEventListener("pagehide", this.leave);
    addEventListener("pageshow", this.back);
    asked.onLink("connecting");
    this.join();
    this.nudge();
  }

  nudge(): void {
    if (this.own) return this.own.nudge();
    this.say({ type: "nudge" });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.alone(), SILENT);
  }

  close(): void {
    this.leave();
    this.drop();
    if (this.own) this.own.close();
    else this.asked.onLink("closed");
  }

  private readonly leave = (): void => this.say({ type: "leave" });

  /** The page comes out of the browser's store of pages that were left. */
  private readonly back = (event: PageTransitionEvent): void => {
    if (event.persisted) this.again();
  };

  private again(): void {
    this.asked.onLink("lost");
    this.join();
  }

  private join(): void {
    const { session, place } = this.asked;
    this.say({ type: "watch", session, ...place(), token: auth.token });
  }

  private say(message: ToHub): void {
    this.worker.port.postMessage(message);
  }

  private hear(message: ToTab): void {
    clearTimeout(this.timer);
    switch (message.type) {
      case "frames":
        return this.asked.onFrames(message.frames);
      case "link":
        return this.asked.onLink(message.link);
      case "ping":
        return this.say({ type: "pong" });
      case "gone":
        return this.again();
      case "refused":
        return this.refused(new ApiError(message.status, message.code, message.detail));
    }
  }

  private refused(error: ApiError): void {
    if (error.status === 401 && auth.refused()) return this.again();
    this.drop();
    this.asked.onLink("closed");
    this.asked.onRefused(error);
  }

  private alone(): void {
    this.leave();
    this.drop();
    this.own ??= own(this.asked);
  }

  private drop(): void {
    clearTimeout(this.timer);
    removeEventListener("pagehide", this.leave);
    removeEventListener("pageshow", this.back);
    this.worker.port.onmessage = null;
    this.worker.port.close();
  }
}
