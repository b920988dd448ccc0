import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { GATHER, Hub, OVERLAP, PING, UNANSWERED, type Tab, type ToTab } from "../src/core/hub";
import { Transcript } from "../src/core/transcript";
import { row } from "./blocks";
import { switchboard, type Board } from "./switchboard";

class Page implements Tab {
  heard: ToTab[] = [];
  answers = true;
  constructor(
    readonly hub: Hub,
    readonly session: string,
    readonly transcript = new Transcript(),
  ) {}
  watch(seq = 0, token = "t"): void {
    this.hub.hear(this, { type: "watch", session: this.session, seq, epoch: `e.${this.session}`, token });
  }
  postMessage(message: ToTab): void {
    this.heard.push(message);
    if (message.type === "ping" && this.answers) this.hub.hear(this, { type: "pong" });
    if (message.type !== "frames") return;
    for (const { event, id } of message.frames) this.transcript.apply(event, id);
  }
  get ids(): string[] {
    return this.heard.flatMap((m) => (m.type === "frames" ? m.frames.map((f) => f.id || f.event.type) : []));
  }
  get links(): string[] {
    return this.heard.flatMap((m) => (m.type === "link" ? [m.link] : []));
  }
  get text(): string {
    return [...this.transcript.lives.values()].map((l) => String(l.text)).join();
  }
}

const say = (event: object, id = ""): string =>
  `${id && `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;
const user = (session: string, seq: number): string =>
  say({ type: "user", session, id: `${session}${seq}`, text: "x", pos: seq, seq }, `e.${session}-${seq}`);
const start = say({ type: "stream_start", session: "a", id: "m" });
const delta = (offset: number, text: string): string =>
  say({ type: "delta", session: "a", id: "m", offset, text });
const state = (session: string, at = 1): string =>
  say({ type: "session", session, row: row({ id: session, updated_at: at, status: "running" }) });
const settle = (ms = GATHER): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe("one line for all tabs", () => {
  let hub: Hub;
  let board: Board;
  const open = (): Board["lines"] => board.lines.filter((line) => !line.gone());
  const places = (index: number): string =>
    new URL(board.lines[index]!.path).searchParams.get("sessions") ?? "";

  beforeEach(() => {
    vi.useFakeTimers();
    board = switchboard();
    hub = new Hub();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test("eight tabs that come together have one, from the lowest place of each session", async () => {
    for (let i = 0; i < 8; i++) new Page(hub, i % 2 ? "a" : "b").watch(9 - i);
    await settle();
    expect(board.lines).toHaveLength(1);
    expect(places(0)).toBe("b:3,a:2");
    expect(board.lines[0]!.headers.get("X-Shipmate-Token")).toBe("t");
  });

  test("each is told of its session and of all rows, and of no block that it has", async () => {
    const [early, late, other, list] = ["a", "a", "b", ""].map((s) => new Page(hub, s)) as [Page, Page, Page, Page];
    early.watch(1);
    late.watch(3);
    other.watch();
    list.watch();
    await settle();
    board.lines[0]!.say([user("a", 2), user("a", 3), user("a", 4), state("a"), user("b", 1)].join(""));
    await settle();
    expect(early.ids).toEqual(["e.a-2", "e.a-3", "e.a-4", "session"]);
    expect(late.ids).toEqual(["e.a-4", "session"]);
    expect(other.ids).toEqual(["session", "e.b-1"]);
    expect(list.ids).toEqual(["session"]);
  });

  test("who comes while a message is streamed has the whole of it, and nobody has it twice", async () => {
    const first = new Page(hub, "a");
    first.watch();
    await settle();
    board.lines[0]!.say(user("a", 1) + state("a") + start + delta(0, "one "));
    await settle();
    const second = new Page(hub, "a");
    second.watch(0);
    await settle();
    expect(open()).toHaveLength(2);
    board.lines[0]!.say(delta(4, "two "));
    await settle();
    expect([first.text, second.text]).toEqual(["one two ", ""]);
    board.lines[1]!.say(user("a", 1) + start + delta(0, "one two ") + state("a"));
    board.lines[0]!.say(delta(8, "three"));
    board.lines[1]!.say(delta(8, "three"));
    await settle(OVERLAP);
    expect([first.text, second.text]).toEqual(["one two three", "one two three"]);
    expect(first.ids.filter((id) => id === "e.a-1")).toHaveLength(1);
    expect(second.ids.filter((id) => id === "e.a-1")).toHaveLength(1);
    expect(first.links).toEqual(["open", "open"]);
    expect(open()).toEqual([board.lines[1]]);
  });

  test("a place is what a tab was given, not what another one was", async () => {
    const first = new Page(hub, "a");
    first.watch(5);
    await settle();
    board.lines[0]!.say(state("a"));
    const second = new Page(hub, "a");
    second.watch(2);
    await settle();
    board.lines[0]!.say(user("a", 6));
    board.lines[1]!.cut();
    await settle(1000);
    expect(places(2)).toBe("a:2");
    expect(second.ids).toEqual([]);
  });

  test("the former line's word on how things stand does not undo the new one's", async () => {
    const first = new Page(hub, "a");
    first.watch();
    await settle();
    board.lines[0]!.say(state("a", 1));
    await settle();
    new Page(hub, "b").watch();
    await settle();
    board.lines[1]!.say(state("a", 9));
    board.lines[0]!.say(state("a", 5));
    await settle();
    expect(first.transcript.row?.updated_at).toBe(9);
    expect(first.ids).toEqual(["session", "session"]);
  });

  test("tabs that are closed or silent are given up, the last one with the line", async () => {
    const pages = ["a", "b", "b"].map((session) => new Page(hub, session));
    pages.forEach((page) => page.watch());
    await settle();
    board.lines[0]!.say(state("a"));
    await settle();
    hub.hear(pages[0]!, { type: "leave" });
    await settle();
    expect(places(1)).toBe("b:0");
    board.lines[1]!.say(state("b"));
    pages[1]!.answers = false;
    for (let i = 0; i <= UNANSWERED; i++) {
      await settle(PING);
      board.lines[1]!.say('data: {"type":"keep_alive"}\n\n');
    }
    hub.hear(pages[1]!, { type: "pong" });
    expect(pages[1]!.heard.at(-1)).toEqual({ type: "gone" });
    expect(open()).toEqual([board.lines[1]]);
    hub.hear(pages[2]!, { type: "leave" });
    await settle();
    expect(open()).toEqual([]);
  });

  test("a line that is lost and comes back is told to all, and goes on from where each is", async () => {
    const pages = ["a", "b"].map((session) => new Page(hub, session));
    pages.forEach((page) => page.watch());
    await settle();
    board.lines[0]!.say(user("a", 7) + state("a"));
    await settle();
    board.lines[0]!.cut();
    await settle(300);
    expect(places(1)).toBe("a:7,b:0");
    await settle(0);
    for (const page of pages) expect(page.links.filter((l, i, all) => l !== all[i - 1])).toEqual(["open", "lost", "open"]);
  });

  test("a refusal reaches all tabs; the next sign-in opens it for those who ask again", async () => {
    board.status = [401];
    const pages = ["a", "b"].map((session) => new Page(hub, session));
    pages.forEach((page) => page.watch());
    await settle();
    for (const page of pages) expect(page.heard.at(-1)).toMatchObject({ type: "refused", status: 401 });
    await settle(60_000);
    expect(board.lines).toEqual([]);
    pages.forEach((page) => page.watch(0, "new"));
    await settle();
    expect(board.lines.map((l) => l.headers.get("X-Shipmate-Token"))).toEqual(["new"]);
  });
});
