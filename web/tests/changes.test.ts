import { describe, expect, test } from "vitest";
import { asMessage, Comments } from "../src/core/comments.svelte";
import { numbered, paired } from "../src/core/diff";

const spot = (path: string, line: number, before = false) => ({ path, line, before, code: `code ${line}` });

describe("lines of a diff", () => {
  const hunk = { old_start: 4, new_start: 6, lines: [" a", "-b", "-c", "+B", " d", "+e"], id: "" };

  test("are numbered as in the file before and after", () => {
    const numbers = numbered(hunk).map(({ before, after }) => [before, after]);
    expect(numbers).toEqual([[4, 6], [5, ""], [6, ""], ["", 7], [7, 8], ["", 9]]);
  });

  test("stand beside what takes their place", () => {
    const pairs = paired(numbered(hunk)).map(({ left, right }) => [left?.text, right?.text]);
    expect(pairs).toEqual([["a", "a"], ["b", "B"], ["c", undefined], ["d", "d"], [undefined, "e"]]);
  });
});

describe("comments on lines", () => {
  test("are kept, changed and taken away, in the order of their places", () => {
    localStorage.clear();
    const comments = new Comments("s1");
    comments.put(spot("b.py", 2), "second");
    comments.put(spot("a.py", 9), "first");
    comments.put(spot("b.py", 2, true), "  ");
    expect(new Comments("s1").list.map((one) => one.text)).toEqual(["first", "second"]);
    const [first] = comments.at(spot("a.py", 9));
    comments.put(spot("a.py", 9), "changed", first!.id);
    comments.remove(comments.at(spot("b.py", 2))[0]!.id);
    expect(new Comments("s1").list.map((one) => one.text)).toEqual(["changed"]);
    comments.clear();
    expect(localStorage.length).toBe(0);
  });

  test("become one message that quotes each line with its place", () => {
    const list = [
      { ...spot("a.py", 9), id: "1", text: "why?" },
      { ...spot("a.py", 3, true), code: "x".repeat(400), id: "2", text: "keep it\nplease" },
    ];
    expect(asMessage(list, "Comments:", "before")).toBe(
      `Comments:\n\na.py:9\n> code 9\nwhy?\n\na.py:3 (before)\n> ${"x".repeat(300)}…\nkeep it\nplease`,
    );
  });
});
