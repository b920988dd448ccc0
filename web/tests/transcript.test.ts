import { describe, expect, test } from "vitest";
import { fill, type AnyBlock, type Event } from "../src/core/protocol";
import { Transcript } from "../src/core/transcript";
import { block, row } from "./blocks";

const opened = (): Transcript => {
  const t = new Transcript(() => 5_000);
  t.load({ session: row(), blocks: [], pending: [], live: [], epoch: "e", last_seq: 0, more: false });
  return t;
};
const start = { type: "stream_start", id: "m1", agent: "assistant", model: "x/y" } as const;
const delta = (offset: number, text: string): Event => ({ type: "delta", id: "m1", offset, text });

describe("the transcript of a session", () => {
  test("defaults that the wire leaves out are there, and unknown types are kept raw", () => {
    expect(fill({ type: "tool_result", id: "r", call: "c", text: "" })).toMatchObject({
      is_error: false, parent: "", seconds: 0,
    });
    const odd = fill({ type: "hologram", id: "h", beam: 1 });
    expect(odd).toMatchObject({ type: "unknown", raw: { type: "hologram", beam: 1 } });
    expect(fill({ type: "hologram" })).toBeNull();
    expect(fill("text")).toBeNull();
  });

  test("blocks stand by pos, whatever order they come in", () => {
    const t = opened();
    const [a, b] = [block("user", { text: "a" }), block("user", { text: "b" })];
    t.apply(b, "e-2");
    t.apply(a, "e-1");
    expect(t.blocks.map((x) => x.id)).toEqual([a.id, b.id]);
    expect(t.seq).toBe(2);
  });

  test("the same event twice changes nothing, an older change never wins", () => {
    const t = opened();
    const asked = block("approval_request", { call: "c", title: "t", details: {}, digest: "d" });
    const decided = { ...asked, seq: asked.seq + 5, result: true };
    expect(t.apply(asked, "e-1")).toBe("blocks");
    expect(t.apply(decided, "e-6")).toBe("blocks");
    expect(t.apply(decided, "e-6")).toBe("same");
    expect(t.apply(asked, "e-1")).toBe("same");
    expect(t.get(asked.id)).toMatchObject({ result: true });
    expect(t.blocks).toHaveLength(1);
    expect(t.seq).toBe(6);
  });

  test("the queue is what the last event of it says, and no block", () => {
    const t = opened();
    const items = [{ id: "q", text: "later" }];
    expect(t.apply(fill({ type: "queue", session: "s", items })!)).toBe("blocks");
    expect(t.queued).toEqual(items);
    t.apply(fill({ type: "queue", session: "s" })!);
    expect(t.queued).toEqual([]);
    expect(t.blocks).toEqual([]);
  });

  test("deltas are placed by offset: repeated and overlapping ones add nothing twice", () => {
    const t = opened();
    t.apply(start);
    t.apply(delta(0, "Hello"));
    expect(t.apply(delta(0, "Hello"))).toBe("same");
    t.apply(delta(3, "lo you"));
    expect(String(t.lives.get("m1")?.text)).toBe("Hello you");
  });

  test("offsets count UTF-16 units, so a picture character counts two", () => {
    const t = opened();
    t.apply(start);
    t.apply(delta(0, "🚢"));
    t.apply(delta(2, "!"));
    expect(String(t.lives.get("m1")?.text)).toBe("🚢!");
  });

  test("text and reasoning have offsets of their own", () => {
    const t = opened();
    t.apply(start);
    t.apply({ type: "delta", id: "m1", offset: 0, reasoning: "hm" });
    t.apply(delta(0, "So"));
    const live = t.lives.get("m1")!;
    expect([String(live.reasoning), String(live.text), live.spoke]).toEqual(["hm", "So", 5_000]);
  });

  test("a gap, an unknown stream and another epoch ask for a fresh snapshot", () => {
    const t = opened();
    t.apply(start);
    expect(t.apply(delta(3, "x"))).toBe("resync");
    expect(t.apply({ type: "delta", id: "other", offset: 0, text: "x" })).toBe("resync");
    expect(t.apply(block("user", { text: "a" }), "f-1")).toBe("resync");
  });

  test("for one stream a snapshot is asked for once, not at every piece", () => {
    const t = opened();
    expect(t.apply(delta(3, "x"))).toBe("resync");
    expect(t.apply(delta(4, "y"))).toBe("same");
  });

  test("the message block takes the place of the stream, and late pieces are ignored", () => {
    const t = opened();
    t.apply(start);
    t.apply(delta(0, "Hel"));
    t.apply(block("message", { id: "m1", text: "Hello" }), "e-9");
    expect(t.lives.size).toBe(0);
    expect(t.apply(delta(3, "lo"))).toBe("same");
    expect(t.apply(start)).toBe("same");
  });

  test("who joins in the middle gets the text so far and goes on from there", () => {
    const t = new Transcript();
    t.load({
      session: row({ status: "running" }), blocks: [], pending: [], epoch: "e", last_seq: 3,
      live: [{ id: "m1", text: "Hel", reasoning: "", agent: "a", model: "x/y" }], more: false,
    });
    t.apply(start);
    t.apply(delta(3, "lo"));
    expect(String(t.lives.get("m1")?.text)).toBe("Hello");
  });

  test("what a fresh snapshot brings of a stream is added to what is shown of it", () => {
    const t = opened();
    t.apply(start);
    t.apply(delta(0, "one "));
    t.apply(delta(4, "two "));
    const live = { id: "m1", text: "one two three four ", reasoning: "", agent: "a", model: "x/y" };
    t.load({ session: row({ status: "running" }), blocks: [], pending: [], epoch: "e", last_seq: 3, live: [live], more: false });
    t.apply(delta(14, "four five"));
    expect(String(t.lives.get("m1")?.text)).toBe("one two three four five");
    expect(t.lives.get("m1")?.text.pieces.slice(0, 2)).toEqual(["one ", "two "]);
  });

  test("a retry is shown until text comes, and done ends every stream", () => {
    const t = opened();
    t.apply(start);
    t.apply({ type: "retry", id: "m1", attempt: 1, of: 5, wait: 2, reason: "429" });
    expect(t.lives.get("m1")?.retry?.reason).toBe("429");
    t.apply(delta(0, "ok"));
    expect(t.lives.get("m1")?.retry).toBeNull();
    t.apply({ type: "done", finished: true });
    expect(t.lives.size).toBe(0);
    expect(t.done?.finished).toBe(true);
  });

  test("a fresh snapshot keeps the older pages it joins on to, and drops what it does not", () => {
    const [a, b, c, d] = [1, 2, 3, 9].map((pos) => block("user", { text: "x", pos }));
    const t = opened();
    const snap = (blocks: AnyBlock[], epoch = "e") =>
      t.load({ session: row(), blocks, pending: [], live: [], epoch, last_seq: 9, more: true });
    snap([b!]);
    t.prepend([a!], false);
    snap([b!, c!]);
    expect(t.blocks).toEqual([a, b, c]);
    expect(t.more).toBe(false);
    snap([d!]);
    expect(t.blocks).toEqual([d]);
    expect(t.more).toBe(true);
    snap([a!], "f");
    expect(t.blocks).toEqual([a]);
  });

  test("older pages go in front, and what waits far above does not count as their edge", () => {
    const old = block("user", { text: "old" });
    const pending = block("ask_user", { call: "c", question: "?" });
    const middle = block("user", { text: "middle" });
    const recent = block("user", { text: "recent" });
    const t = new Transcript();
    t.load({ session: row(), blocks: [recent], pending: [pending], live: [], epoch: "e", last_seq: 9, more: true });
    expect(t.oldest()).toBe(recent.pos);
    t.prepend([old, middle, pending], false);
    expect(t.blocks.map((x) => x.id)).toEqual([old.id, pending.id, middle.id, recent.id]);
    expect(t.more).toBe(false);
  });
});
