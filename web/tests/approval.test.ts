import { describe, expect, test } from "vitest";
import { hunksOf } from "../src/core/deciding.svelte";
import { differs, fromFields, toFields } from "../src/core/fields";
import { fill, pending } from "../src/core/protocol";

describe("arguments as fields", () => {
  const given = { command: "ls -la\n", timeout: 5, env: { A: "1" }, deep: [true, null] };

  test("they come back as they were", () => {
    const fields = toFields(given);
    expect(fields.map((field) => field.json)).toEqual([false, true, true, true]);
    expect(fromFields(fields)).toEqual({ given });
    expect(differs(fields, given)).toBe(false);
  });

  test("text that looks like JSON stays text, and broken JSON is named", () => {
    const fields = toFields({ content: "[1", n: 1 });
    expect(fromFields(fields)).toEqual({ given: { content: "[1", n: 1 } });
    const broken = fields.map((field) => ({ ...field, text: "[1" }));
    expect(fromFields(broken)).toEqual({ wrong: "n" });
    expect(differs(broken, { content: "[1", n: 1 })).toBe(true);
  });

  test("a name of the page's own is a name like any other", () => {
    const odd = JSON.parse('{"__proto__": "x", "constructor": 1}') as Record<string, unknown>;
    const made = fromFields(toFields(odd)) as { given: object };
    expect(Object.keys(made.given)).toEqual(["__proto__", "constructor"]);
  });
});

describe("hunks", () => {
  const diff = (...ids: string[]) => ({
    kind: "diff" as const,
    files: [{ path: "a", hunks: ids.map((id) => ({ id, old_start: 1, new_start: 1, lines: ["+x"] })) }],
  });

  test("there is a choice from two on", () => {
    expect(hunksOf(diff("a"))).toEqual([]);
    expect(hunksOf(diff("a", "b"))).toEqual(["a", "b"]);
    expect(hunksOf(diff("", ""))).toEqual([]);
    expect(hunksOf({ kind: "command", command: "ls", cwd: "/" })).toEqual([]);
  });
});

test("what waits has its defaults, and what is decided or unknown waits no more", () => {
  const request = { type: "approval_request", id: "a", call: "c", title: "t", details: {}, digest: "d" };
  const items = [request, { ...request, result: false }, { type: "ask_user", id: "q", call: "", question: "?" }, { type: "new", id: "n" }, null];
  expect(pending(items).map((item) => item.id)).toEqual(["a", "q"]);
  expect(fill({ type: "pending", session: "s", items })).toMatchObject({
    session: "s",
    items: [{ id: "a", scopes: ["once"] }, { id: "q", options: [] }],
  });
});
