import { describe, expect, test } from "vitest";
import { told } from "../src/core/links";
import { pieces, visible } from "../src/core/visible";

describe("what is said beside a link", () => {
  test.each([
    ["https://example.com/a", "the manual", ""],
    ["https://example.com/a", "https://example.com/a", ""],
    ["https://www.example.com/", "example.com", ""],
    ["https://evil.example/", "https://bank.example/", "evil.example"],
    ["https://evil.example/", "bank\u200b.example", "evil.example"],
    ["https://evil.example:8443/", "Bank.Example", "evil.example:8443"],
    ["https://bank.example@evil.example/", "https://bank.example@evil.example/", "evil.example"],
    ["https://b\u0430nk.example/", "https://b\u0430nk.example/", "xn--bnk-6cd.example"],
    ["mailto:a@b.example", "a@b.example", ""],
    ["mailto:z@evil.example", "a@b.example", "z@evil.example"],
    ["mailto:%E2%80%AEa@b.example", "x@y.example", "U+202Ea@b.example"],
  ])("%s as %s: %s", (href, words, note) => {
    expect(told(href, words)).toBe(note);
  });
});

describe("hidden characters", () => {
  test("one that stands many times is named once", () => {
    expect(visible(`a${"\u200b".repeat(3000)}\u202eb`)).toBe("aU+200B×3000U+202Eb");
    expect(pieces("\u200b".repeat(100_000))).toHaveLength(1);
  });

  test("the joint of an emoji stays, and one anywhere else is named", () => {
    expect(visible("👨\u200d👩\u200d👧 👩🏽\u200d💻 ❤\ufe0f\u200d🔥")).toBe("👨\u200d👩\u200d👧 👩🏽\u200d💻 ❤\ufe0f\u200d🔥");
    expect(visible("rm\u200d -rf 👨\u200dx")).toBe("rmU+200D -rf 👨U+200Dx");
  });
});
