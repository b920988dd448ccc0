import { describe, expect, test } from "vitest";
import { fuzzy, marked } from "../src/core/fuzzy";
import { locate } from "../src/core/locate";
import { keepPlace, readPlace } from "../src/core/places";
import { toRows } from "../src/core/rows";
import { changesOf, textOf } from "../src/shell/limits";
import { byDay, ceiling, sumsBy } from "../src/usage/sums";
import { nameOf } from "../src/agents/agents.svelte";
import { byDay as grouped } from "../src/shell/list";
import { block, read, row } from "./blocks";

const best = (query: string, texts: string[]): string[] =>
  texts
    .flatMap((text) => {
      const match = fuzzy(text, query);
      return match ? [{ text, score: match.score }] : [];
    })
    .sort((a, b) => b.score - a.score)
    .map(({ text }) => text);

describe("the palette's matching", () => {
  test("words fit in any order, letters may be left out, and beginnings of words are best", () => {
    const texts = ["Fix login loop", "Plugin loader", "Settings: Models", "导出为 Markdown"];
    expect(best("login", texts)).toEqual(["Fix login loop"]);
    expect(best("lo", texts)[0]).toBe("Fix login loop");
    expect(best("loop fix", texts)).toEqual(["Fix login loop"]);
    expect(best("sxmd", texts)).toEqual([]);
    expect(best("sets", texts)).toEqual(["Settings: Models"]);
    expect(best("导出", texts)).toEqual(["导出为 Markdown"]);
    expect(best("zzz", texts)).toEqual([]);
    expect(fuzzy("a", "  ")).toEqual({ score: 0, at: [] });
  });

  test("what fits is marked where it stands", () => {
    const { at } = fuzzy("Fix login", "log")!;
    expect(marked("Fix login", at).filter((part) => part.hit)).toEqual([{ text: "log", hit: true }]);
    expect(marked("Fix login", at).map((part) => part.text).join("")).toBe("Fix login");
  });
});

describe("where a block is shown", () => {
  const blocks = [
    block("user", { id: "u", text: "hi" }),
    ...["c1", "c2", "c3"].flatMap((id) => read({ id })),
    block("tool", { id: "c9", name: "call_agent", arguments: {} }),
    block("message", { id: "deep", text: "found", parent: "c9" }),
  ];
  const rows = toRows({ blocks, lives: [], row: row() });
  const result = blocks.find((one) => one.type === "tool_result" && one.call === "c2")!.id;
  const at = (id: string) => {
    const place = locate(rows, (wanted) => blocks.find((one) => one.id === wanted), id);
    return place && [rows[place.index]!.kind, ...place.folds];
  };

  test("a message has its row; a result is in its call's fold, a folded call in two", () => {
    expect(at("u")).toEqual(["user"]);
    expect(at(result)).toEqual(["explored", rows.find((one) => one.kind === "explored")!.key, "tool:c2"]);
    expect(at("nope")).toBeNull();
  });

  test("what a sub-agent says is within its card", () => {
    expect(at("deep")?.[0]).toBe("agent");
  });
});

test("a place is kept until the reader leaves at the end, and 200 of them at most", () => {
  localStorage.clear();
  keepPlace("a", "row1");
  expect(readPlace("a")).toBe("row1");
  keepPlace("a", "");
  expect(readPlace("a")).toBe("");
  for (let n = 0; n < 205; n++) keepPlace(`s${n}`, "r");
  expect([readPlace("s0"), readPlace("s4"), readPlace("s5"), readPlace("s204")]).toEqual(["", "", "r", "r"]);
});

describe("what was used", () => {
  const used = { requests: 1, cached: 0 };
  const rows = [
    { ...used, session: "a", day: "2026-03-01", model: "m", prompt: 5, completion: 1, cost: 0.5 },
    { ...used, session: "b", day: "2026-02-27", model: "m", prompt: 9, completion: 1, cost: 0 },
  ];
  test("is added up, and days without any are there", () => {
    expect(sumsBy(rows, "model")).toEqual([{ key: "m", requests: 2, tokens: 16, cost: 0.5 }]);
    expect(sumsBy(rows, "session").map((sum) => sum.key)).toEqual(["b", "a"]);
    expect(byDay(rows, 4, "2026-03-01").map((day) => [day.key, day.tokens])).toEqual([
      ["2026-02-26", 0],
      ["2026-02-27", 10],
      ["2026-02-28", 0],
      ["2026-03-01", 6],
    ]);
  });
  test("an axis ends at a round number", () => {
    expect([0, 1, 3, 7, 20, 1234, 0.03].map(ceiling)).toEqual([1, 1, 5, 10, 20, 2000, 0.05]);
  });
});

describe("settings with a field", () => {
  const view = {
    interface: {}, server: {}, file: "",
    budgets: { round_tokens: 0, session_cost: 0, day_cost: 0 },
    limits: { compact_at: 0.75, tool_result_chars: 20000, read_files_bytes: 10240, reads_per_round: 3 },
    web: { hosts: ["wiki.lan"], proxy: "", seconds: 30 },
    sandbox: { mode: "auto", read: [], write: [] },
  };
  test("only what differs is sent, and what is no number is told", () => {
    const texts = {
      "budgets-round_tokens": "100,000", "budgets-session_cost": "2.5", "budgets-day_cost": "much",
      "limits-compact_at": "60", "limits-tool_result_chars": "20000", "limits-read_files_bytes": "1.5",
      "limits-reads_per_round": "3", "web-hosts": "wiki.lan, 127.0.0.1:8080", "web-proxy": "",
      "web-seconds": "30", "sandbox-mode": "off", "sandbox-read": "", "sandbox-write": "~/a",
    };
    expect(changesOf(view as never, texts)).toEqual({
      changes: {
        budgets: { round_tokens: 100000, session_cost: 2.5 },
        limits: { compact_at: 0.6 },
        web: { hosts: ["wiki.lan", "127.0.0.1:8080"] },
        sandbox: { mode: "off", write: ["~/a"] },
      },
      wrong: { "budgets-day_cost": "number", "limits-read_files_bytes": "whole" },
    });
    expect(textOf(view as never, "limits-compact_at")).toBe("75");
  });
});

test("a file's name becomes an agent's", () => {
  expect(nameOf("Doc writer.md")).toBe("Doc-writer");
  expect(nameOf("../../x.markdown")).toBe("x");
});

test("what is pinned stands before all days", () => {
  const groups = grouped([row({ id: "a" }), row({ id: "b", pinned: true })], Date.now());
  expect(groups.map((group) => [group.day, group.rows.map((one) => one.id)])).toEqual([
    ["pinned", ["b"]],
    ["older", ["a"]],
  ]);
});
