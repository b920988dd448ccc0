import { describe, expect, test } from "vitest";
import { toRows, type Row } from "../src/core/rows";
import type { AnyBlock } from "../src/core/protocol";
import { GrowingText } from "../src/core/growing";
import type { Live } from "../src/core/transcript";
import { block, read, row } from "./blocks";

const kinds = (rows: Row[]): string[] => rows.map((r) => r.kind);
const show = (blocks: AnyBlock[], status: "idle" | "running" = "idle", lives: Live[] = []): Row[] =>
  toRows({ blocks, lives, row: row({ status }) });
const user = (): AnyBlock => block("user", { text: "hi" });
const say = (text: string, fields = {}): AnyBlock => block("message", { text, tokens: 10, ...fields });
const live = (fields: Partial<Live>): Live => ({
  id: "l", agent: "assistant", model: "", parent: "", text: new GrowingText(), reasoning: new GrowingText(), began: 1, spoke: 0,
  retry: null, ...fields,
});

describe("rows of the thread", () => {
  test("one AI header per round, its tokens at the end", () => {
    const usage = { prompt: 9, completion: 1, cached: 4, reasoning: 0 };
    const rows = show([user(), say("a", { usage }), ...read(), say("b"), user(), say("c")]);
    expect(kinds(rows)).toEqual([
      "user", "head", "message", "tool", "message", "foot", "user", "head", "message", "foot",
    ]);
    const foot = rows[5] as Extract<Row, { kind: "foot" }>;
    expect(foot).toMatchObject({ tokens: 20, cached: 4, text: "a\n\nb", estimate: false });
  });

  test("three successful reads fold, two do not, and a failed one stays out", () => {
    expect(kinds(show([user(), say(""), ...read(), ...read()]))).toContain("tool");
    const rows = show([user(), say(""), ...read(), ...read(), say(""), ...read(), ...read()]);
    expect(kinds(rows)).toEqual(["user", "head", "explored", "foot"]);
    expect((rows[2] as Extract<Row, { kind: "explored" }>).calls).toHaveLength(4);
    const failed = read();
    failed[1] = { ...failed[1]!, is_error: true } as AnyBlock;
    expect(kinds(show([user(), say(""), ...read(), ...failed, ...read(), ...read()]))).toEqual([
      "user", "head", "tool", "tool", "tool", "tool", "foot",
    ]);
  });

  test("text between reads and edits break a fold", () => {
    const edit = block("tool", { name: "write_file", provider: "read_write", message: "m" });
    const done = block("tool_result", { call: edit.id, text: "ok" });
    const rows = show([user(), say(""), ...read(), ...read(), edit, done, ...read(), ...read()]);
    expect(kinds(rows)).not.toContain("explored");
  });

  test("an approval of a sub-agent stands in the main thread, never inside its card", () => {
    const call = block("tool", { name: "call_agent", message: "m", arguments: { agent: "a" } });
    const inner = block("tool", { name: "shell_exec", message: "n", parent: call.id });
    const asks = block("approval_request", {
      call: inner.id, title: "t", digest: "d", parent: call.id,
      details: { kind: "command", command: "ls", cwd: "." },
    });
    const blocks = [user(), say("a"), call, inner, asks];
    const rows = show(blocks, "running");
    expect(kinds(rows)).toEqual(["user", "head", "message", "agent", "approval"]);
    const card = rows[3] as Extract<Row, { kind: "agent" }>;
    expect(card.blocks).toContain(inner);
    const within = (own: AnyBlock[]) => kinds(toRows({ blocks: own, lives: [], row: row() }, call.id));
    expect(within(card.blocks)).toEqual([]);
    expect(within([inner, { ...asks, result: true } as AnyBlock])).toEqual(["tool"]);
  });

  test("the card of a sub-agent holds the threads of those that it called, too", () => {
    const call = (parent: string) =>
      block("tool", { name: "call_agent", message: "m", parent, arguments: { agent: "a" } });
    const outer = call("");
    const inner = call(outer.id);
    const read = block("tool", { name: "read_file", message: "n", parent: inner.id });
    const card = show([user(), say("a"), outer, inner, read]).find((r) => r.kind === "agent")!;
    const within = toRows({ blocks: card.blocks, lives: [], row: row() }, outer.id);
    expect(kinds(within)).toEqual(["agent"]);
    const deeper = within[0] as Extract<Row, { kind: "agent" }>;
    expect(kinds(toRows({ blocks: deeper.blocks, lives: [], row: row() }, inner.id))).toEqual(["tool"]);
  });

  test("the todo list of a sub-agent does not take the place of the session's", () => {
    const items = [{ id: 1, title: "t", status: "completed" }];
    const call = block("tool", { name: "call_agent", message: "m", arguments: { agent: "a" } });
    const its = block("todo", { id: `todo-${call.id}`, parent: call.id, items });
    expect(kinds(show([user(), say("a"), call, its]))).not.toContain("todo");
    const own = block("todo", { id: "todo", items });
    expect(show([user(), say("a"), call, its, own])).toContainEqual({ key: "todo", kind: "todo", block: own });
  });

  test("a decided approval stands above its call, one given by the bypass is a word on the call", () => {
    const call = block("tool", { name: "write_file", provider: "read_write", message: "m" });
    const asks = block("approval_request", { call: call.id, title: "t", digest: "d", details: {} });
    const done = block("tool_result", { call: call.id, text: "ok" });
    const after = (more: object) => show([user(), say("a"), call, { ...asks, ...more } as AnyBlock, done]);
    expect(kinds(after({ result: true }))).toEqual(["user", "head", "message", "approval", "tool", "foot"]);
    expect(kinds(after({}))).not.toContain("tool");
    const bypassed = after({ result: true, decided_by: "bypass" });
    expect(kinds(bypassed)).toEqual(["user", "head", "message", "tool", "foot"]);
    expect(bypassed[3]).toMatchObject({ unasked: { by: "bypass" } });
    const ruled = after({ result: true, decided_by: "rule", rule: "shell:ls" });
    expect(ruled[3]).toMatchObject({ kind: "tool", unasked: { by: "rule", rule: "shell:ls" } });
    expect(after({ result: false })[4]).toMatchObject({ kind: "tool", denied: true });
  });

  test("a question takes the place of its call's card", () => {
    const call = block("tool", { name: "ask_user", provider: "ask", message: "m" });
    const asks = block("ask_user", { call: call.id, question: "?" });
    expect(kinds(show([user(), say("a"), call, asks], "running"))).not.toContain("tool");
  });

  test("attachments belong to the message they came with, before or after it", () => {
    const file = (): AnyBlock => block("attachment", { kind: "text", name: "a.txt" });
    const rows = show([file(), user(), file(), say("a"), user()]);
    expect(kinds(rows)).toEqual(["user", "head", "message", "foot", "user"]);
    expect((rows[0] as Extract<Row, { kind: "user" }>).attachments).toHaveLength(2);
  });

  test("dots show only while nothing else shows that it works", () => {
    expect(kinds(show([user()], "running"))).toEqual(["user", "thinking"]);
    expect(kinds(show([user()], "running", [live({})]))).toEqual(["user", "head", "thinking"]);
    const spoken = kinds(show([user()], "running", [live({ text: new GrowingText("a") })]));
    expect(spoken).toEqual(["user", "head", "message"]);
    const open = read().slice(0, 1);
    expect(kinds(show([user(), say("a"), ...open], "running"))).not.toContain("thinking");
  });

  test("the todo list stands once, below the messages; an empty one not at all", () => {
    const todo = block("todo", { id: "todo", items: [{ id: 1, title: "a" }] });
    expect(kinds(show([user(), todo, say("a")])).at(-1)).toBe("todo");
    expect(kinds(show([user(), { ...todo, items: [] }, say("a")]))).not.toContain("todo");
  });

  test("an error and an interruption stand at the end, unknown types as raw cards", () => {
    const rows = toRows({ blocks: [user()], lives: [], row: row({ status: "error", error: "401" }) });
    expect(kinds(rows)).toEqual(["user", "end"]);
    const notice = block("system", { text: "401", level: "error" });
    const failed = { blocks: [user(), notice], lives: [], row: row({ status: "error", error: "401" }) };
    expect(kinds(toRows(failed))).toEqual(["user", "end"]);
    expect(kinds(show([user(), notice]))).toEqual(["user", "system"]);
    const odd = { ...user(), type: "unknown", raw: { type: "x" } } as AnyBlock;
    expect(kinds(show([odd]))).toEqual(["unknown"]);
  });

  test("keys are unique, and a message keeps its key from stream to block", () => {
    const id = "same";
    const streaming = show([user()], "running", [live({ id, text: new GrowingText("a") })]);
    const kept = show([user(), block("message", { id, text: "a" })]);
    const key = streaming.find((r) => r.kind === "message")!.key;
    expect(kept.some((r) => r.key === key)).toBe(true);
    const keys = show([user(), say("a"), ...read(), ...read(), ...read(), say("b")]).map((r) => r.key);
    expect(new Set(keys).size).toBe(keys.length);
  });
});
