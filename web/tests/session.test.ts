import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { OpenSession } from "../src/core/session.svelte";
import { row } from "./blocks";

interface Server {
  snapshots: number;
  live: string;
  say: (...events: object[]) => void;
  /** Lets the snapshot that is asked for be answered. */
  answer: () => void;
}

function serve(): Server {
  const waiting: (() => void)[] = [];
  let control!: ReadableStreamDefaultController<Uint8Array>;
  const server: Server = {
    snapshots: 0,
    live: "",
    say: (...events) => {
      const text = events.map((e) => `data: ${JSON.stringify(e)}\n\n`).join("");
      control.enqueue(new TextEncoder().encode(text));
    },
    answer: () => waiting.shift()!(),
  };
  vi.stubGlobal("fetch", (request: Request) => {
    if (request.url.includes("/events")) {
      return Promise.resolve(new Response(new ReadableStream({ start: (c) => void (control = c) })));
    }
    if (request.url.includes("/pending")) return Promise.resolve(new Response('{"waiting":[]}'));
    server.snapshots += 1;
    const live = { id: "m", agent: "a", model: "x/y", text: server.live, reasoning: "" };
    const body = JSON.stringify({
      session: row({ id: "s", status: "running" }), blocks: [], pending: [], epoch: "e",
      last_seq: 0, more: false, live: server.live ? [live] : [],
    });
    return new Promise((resolve) => waiting.push(() => resolve(new Response(body))));
  });
  return server;
}

const text = (session: OpenSession): string => {
  const said = session.rows.find((r) => r.kind === "message");
  return said?.kind === "message" ? String(said.live?.text ?? "") : "";
};
const delta = (offset: number, piece: string) => ({ type: "delta", id: "m", offset, text: piece });
const settle = () => vi.advanceTimersByTimeAsync(50);

describe("an open session", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 16));
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test("after a gap one snapshot is read, and nothing that came meanwhile is lost", async () => {
    const server = serve();
    const session = new OpenSession("s");
    server.answer();
    await settle();
    server.say({ type: "stream_start", id: "m" }, delta(0, "ab"));
    await settle();
    expect(text(session)).toBe("ab");
    server.live = "abcdef";
    server.say(delta(4, "ef"));
    await settle();
    expect(server.snapshots).toBe(2);
    server.say(delta(6, "gh"));
    await settle();
    server.answer();
    await settle();
    expect(text(session)).toBe("abcdefgh");
    expect(server.snapshots).toBe(2);
    session.close();
  });
});
