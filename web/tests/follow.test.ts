import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ASLEEP_AFTER, Follower, POLL } from "../src/core/follow";
import { backoff, DEAD_AFTER, type Link } from "../src/core/line";
import { FrameReader, parseId, type Frame } from "../src/core/sse";
import { switchboard } from "./switchboard";

const user = (seq: number): string =>
  `id: e-${seq}\nevent: user\ndata: {"type":"user","id":"u${seq}","text":"x","pos":${seq},"seq":${seq}}\n\n`;

describe("following a stream", () => {
  let got: Frame[];
  let links: Link[];
  let refused: number[];
  let polls = 0;
  const follow = (): Follower =>
    new Follower({
      path: () => `/api/agent/events?sessions=s:${got.length}`,
      onFrames: (frames) => got.push(...frames),
      onLink: (link) => links.push(link),
      onPoll: () => (polls += 1),
      onRefused: (error) => refused.push(error.status),
    });

  beforeEach(() => {
    [got, links, refused] = [[], [], []];
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  test("after a cut it goes on from the last event it had", async () => {
    const board = switchboard();
    const follower = follow();
    await vi.advanceTimersByTimeAsync(0);
    board.lines[0]!.say(user(1) + user(2).slice(0, 20));
    await vi.advanceTimersByTimeAsync(0);
    board.lines[0]!.say(user(2).slice(20));
    await vi.advanceTimersByTimeAsync(0);
    board.lines[0]!.cut();
    await vi.advanceTimersByTimeAsync(300);
    expect(got.map((f) => f.id)).toEqual(["e-1", "e-2"]);
    expect(board.lines[1]!.path).toContain("s:2");
    follower.close();
  });

  test("a line that says nothing for 40 s is dead, one that is kept alive is not", async () => {
    const board = switchboard();
    const follower = follow();
    await vi.advanceTimersByTimeAsync(DEAD_AFTER - 1000);
    board.lines[0]!.say('event: keep_alive\ndata: {"type":"keep_alive"}\n\n');
    await vi.advanceTimersByTimeAsync(DEAD_AFTER - 1000);
    expect(board.lines).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2000);
    expect(board.lines).toHaveLength(2);
    expect(links).toContain("lost");
    follower.close();
  });

  test("a refusal for good ends it and is told, a failing server is tried again", async () => {
    const board = switchboard();
    board.status = [503, 503, 404];
    follow();
    await vi.advanceTimersByTimeAsync(1500);
    expect(refused).toEqual([404]);
    expect(links.at(-1)).toBe("closed");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(refused).toHaveLength(1);
  });

  test("a nudge tries at once, and after close nothing is tried", async () => {
    const board = switchboard();
    board.status = Array<number>(10).fill(503);
    const follower = follow();
    await vi.advanceTimersByTimeAsync(8000);
    const left = board.status.length;
    follower.nudge();
    await vi.advanceTimersByTimeAsync(0);
    expect(board.status.length).toBe(left - 1);
    follower.close();
    const after = board.status.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(board.status.length).toBe(after);
  });

  test("a hidden tab gives its line back, asks now and then, and is there at once when shown", async () => {
    const board = switchboard();
    const hide = (hidden: boolean): void => {
      vi.spyOn(document, "hidden", "get").mockReturnValue(hidden);
      document.dispatchEvent(new Event("visibilitychange"));
    };
    const follower = follow();
    await vi.advanceTimersByTimeAsync(0);
    hide(true);
    await vi.advanceTimersByTimeAsync(ASLEEP_AFTER - 1);
    hide(false);
    await vi.advanceTimersByTimeAsync(ASLEEP_AFTER);
    expect(board.lines[0]!.gone()).toBe(false);
    hide(true);
    await vi.advanceTimersByTimeAsync(ASLEEP_AFTER);
    expect(board.lines[0]!.gone()).toBe(true);
    expect(links.at(-1)).toBe("asleep");
    polls = 0;
    await vi.advanceTimersByTimeAsync(2 * POLL);
    expect([polls, board.lines.length]).toEqual([2, 1]);
    hide(false);
    await vi.advanceTimersByTimeAsync(0);
    expect(board.lines).toHaveLength(2);
    follower.close();
    vi.restoreAllMocks();
  });

  test("waits grow from 0.25 s to 10 s", () => {
    expect([0, 1, 2, 5, 6, 20].map((n) => backoff(n, 0))).toEqual([
      250, 500, 1000, 8000, 10_000, 10_000,
    ]);
    expect(backoff(6, 1)).toBe(8000);
  });
});

describe("frames", () => {
  test("come whole from any pieces; broken JSON is left out", () => {
    const text = `${user(1)}event: x\ndata: {broken\n\n${user(2)}`;
    const whole = new FrameReader().feed(text).map((f) => f.id);
    for (let size = 1; size < text.length; size += 7) {
      const reader = new FrameReader();
      const ids: string[] = [];
      for (let at = 0; at < text.length; at += size) {
        ids.push(...reader.feed(text.slice(at, at + size)).map((f) => f.id));
      }
      expect(ids).toEqual(whole);
    }
    expect(whole).toEqual(["e-1", "e-2"]);
  });

  test("ids carry epoch and number", () => {
    expect(parseId("ab-c-12")).toEqual({ epoch: "ab-c", seq: 12 });
    expect(parseId("")).toBeNull();
    expect(parseId("x-y")).toBeNull();
  });
});
