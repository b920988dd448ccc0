/** Fetching an offline model: how far it is, as the server tells it. */
import { createParser } from "eventsource-parser";
import type { components } from "../core/api.gen";
import { ApiError, api, call, got } from "../core/api";

type Step = components["schemas"]["FetchEvent"];
export type State = "idle" | Step["state"];

export class Download {
  state = $state<State>("idle");
  /** Bytes, of `total`. */
  done = $state(0);
  total = $state(0);
  /** Why it failed, in words for a person. */
  error = $state("");

  constructor(readonly name: string) {
    if (localStorage.getItem(this.key)) void this.start(); // the page was loaded anew meanwhile
  }

  private get key(): string {
    return `shipmate.fetching.${this.name}`;
  }

  get busy(): boolean {
    return this.state === "running" || this.state === "checking";
  }

  /** Fetches it, or follows who does already; returns at its end. */
  async start(): Promise<void> {
    if (this.busy) return;
    this.state = "running";
    this.error = "";
    localStorage.setItem(this.key, "1");
    try {
      const answer = await call("POST", "/api/models/fetch", { name: this.name });
      if (answer.body) await this.follow(answer.body);
      if (this.busy) this.fail(""); // the line was cut; the server goes on by itself
    } catch (error) {
      this.fail((error as Error).message);
      if (error instanceof ApiError && error.status) this.forget();
    }
  }

  async cancel(): Promise<void> {
    try {
      await got(api.POST("/api/models/cancel", { body: { name: this.name } }));
    } catch (error) {
      this.error = (error as Error).message;
    }
  }

  /** Takes one step of the stream; what is none of ours changes nothing. */
  take(data: string): void {
    const step = parsed(data);
    if (step?.type !== "fetch" || step.name !== this.name) return;
    [this.state, this.done, this.total] = [step.state, step.done, step.total];
    this.error = step.error;
    if (!this.busy) this.forget();
  }

  /** It has ended, and is not followed by the next page; a line that is cut is no end. */
  private forget(): void {
    localStorage.removeItem(this.key);
  }

  private async follow(body: ReadableStream<Uint8Array>): Promise<void> {
    const parser = createParser({ onEvent: ({ data }) => this.take(data) });
    const reader = body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
    }
  }

  private fail(why: string): void {
    this.state = "failed";
    this.error = why;
  }
}

function parsed(data: string): Step | null {
  try {
    return JSON.parse(data) as Step;
  } catch {
    return null;
  }
}

/** One for each model, kept while views come and go. */
const known = new Map<string, Download>();
export function download(name: string): Download {
  const one = known.get(name) ?? new Download(name);
  known.set(name, one);
  return one;
}
