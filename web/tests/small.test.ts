import { describe, expect, test } from "vitest";
import { tokenOf } from "../src/core/auth.svelte";
import { keepDraft, LONG_PASTE, readDraft, withPaste } from "../src/core/drafts";
import { compact, duration } from "../src/core/format";
import { toLines } from "../src/core/highlight-lines";
import { nextMode, sends, type KeyPress } from "../src/core/keys";
import { parse, to } from "../src/core/route.svelte";
import { FollowScroll } from "../src/core/scroll";
import { pieces } from "../src/core/visible";

const press = (fields: Partial<KeyPress> = {}): KeyPress => ({
  key: "Enter", shiftKey: false, ctrlKey: false, metaKey: false, altKey: false,
  isComposing: false, keyCode: 13, ...fields,
});

describe("keys of the composer", () => {
  test.each([
    ["shift+enter", {}, false],
    ["shift+enter", { shiftKey: true }, true],
    ["enter", {}, true],
    ["enter", { shiftKey: true }, false],
    ["ctrl+enter", {}, false],
    ["ctrl+enter", { shiftKey: true }, false],
  ] as const)("in mode %s, %o sends: %s", (mode, keys, expected) => {
    expect(sends(press(keys), mode)).toBe(expected);
  });

  test("Ctrl or Cmd with Enter sends in every mode", () => {
    for (const mode of ["shift+enter", "enter", "ctrl+enter"] as const) {
      expect(sends(press({ ctrlKey: true }), mode)).toBe(true);
      expect(sends(press({ metaKey: true }), mode)).toBe(true);
    }
  });

  test("nothing is sent while an input method composes", () => {
    for (const busy of [{ isComposing: true }, { keyCode: 229 }]) {
      expect(sends(press({ ctrlKey: true, ...busy }), "enter")).toBe(false);
    }
  });

  test("the hint goes through all modes and back", () => {
    expect(nextMode(nextMode(nextMode("enter")))).toBe("enter");
  });
});

describe("follow-scroll", () => {
  const box = () => ({ scrollTop: 900, scrollHeight: 1000, clientHeight: 100 });
  const now = (run: () => void): number => (run(), 0);

  test("stays at the end as the content grows", () => {
    const b = box();
    const follow = new FollowScroll(b, undefined, now);
    b.scrollHeight = 1500;
    follow.grown();
    expect(b.scrollTop).toBe(1500);
  });

  test("a person who scrolls up is left alone, and is followed again within 100 px of the end", () => {
    const b = box();
    const seen: boolean[] = [];
    const follow = new FollowScroll(b, (f) => seen.push(f), now);
    follow.touched();
    b.scrollTop = 500;
    follow.scrolled();
    follow.released();
    b.scrollHeight = 1500;
    follow.grown();
    expect(b.scrollTop).toBe(500);
    follow.touched();
    b.scrollTop = 1301;
    follow.scrolled();
    expect(seen).toEqual([false, true]);
  });

  test("never moves while a finger or the scroll bar is held, and catches up after", () => {
    const b = box();
    const follow = new FollowScroll(b, undefined, now);
    follow.held();
    b.scrollHeight = 1050;
    follow.grown();
    expect(b.scrollTop).toBe(900);
    follow.released();
    expect(b.scrollTop).toBe(1050);
  });

  test("what a person opens at the end stays in view, and grows without being followed", () => {
    const b = box();
    const seen: boolean[] = [];
    const frames: (() => void)[] = [];
    const follow = new FollowScroll(b, (f) => seen.push(f), (run) => frames.push(run));
    follow.toggled();
    b.scrollHeight = 1600;
    follow.grown();
    while (frames.length) frames.shift()!();
    expect(b.scrollTop).toBe(900);
    expect(seen).toEqual([false]);
  });

  test("a scroll that no person made does not let go", () => {
    const b = box();
    const follow = new FollowScroll(b, undefined, now);
    b.scrollHeight = 3000;
    follow.scrolled();
    expect(follow.following).toBe(true);
  });
});

describe("drafts", () => {
  test("are kept per session and gone when empty", () => {
    keepDraft("a", { text: "hello", pastes: [] });
    expect(readDraft("a").text).toBe("hello");
    expect(readDraft("b").text).toBe("");
    keepDraft("a", { text: "", pastes: [] });
    expect(localStorage.getItem("shipmate.draft.a")).toBeNull();
  });

  test("a long paste becomes a chip with a name of its own, a short one stays text", () => {
    const long = "x".repeat(LONG_PASTE + 1);
    expect(withPaste({ text: "", pastes: [] }, "x".repeat(LONG_PASTE))).toBeNull();
    const one = withPaste({ text: "t", pastes: [] }, long)!;
    expect(withPaste(one, long)!.pastes.map((p) => p.name)).toEqual(["pasted.txt", "pasted-2.txt"]);
  });

  test("a broken store gives an empty draft", () => {
    localStorage.setItem("shipmate.draft.z", "{");
    expect(readDraft("z")).toEqual({ text: "", pastes: [] });
  });
});

describe("small things", () => {
  test("hidden, reordering and control characters are spelled out", () => {
    expect(pieces("a\u202eb\u200b\u001b[2J")).toEqual([
      { text: "a", hidden: false },
      { text: "U+202E", hidden: true },
      { text: "b", hidden: false },
      { text: "U+200BU+001B", hidden: true },
      { text: "[2J", hidden: false },
    ]);
    for (const plain of ["tab\tline\n中文 🚢 é", "a\u{1f468}\ufe0f"]) {
      expect(pieces(plain)).toEqual([{ text: plain, hidden: false }]);
    }
    for (const c of ["\r", "\u00ad", "\u2066", "\ud800", "\u{e0041}", "\u3164", "\u00a0"]) {
      expect(pieces(c)[0]?.hidden, c.codePointAt(0)!.toString(16)).toBe(true);
    }
  });

  test("tokens and durations are short", () => {
    expect([950, 12_400, 1_250, 128_000, 999_600].map(compact)).toEqual([
      "950", "12k", "1.3k", "128k", "1M",
    ]);
    expect([0.42, 14.2, 59.6, 125, 3780].map(duration)).toEqual([
      "0.4 s", "14 s", "1 min", "2 min 5 s", "1 h 3 min",
    ]);
  });

  test("highlighted HTML becomes lines of pairs, spans carried over line ends", () => {
    expect(toLines('a<span class="s">&quot;b\nc&lt;</span>&amp;d')).toEqual([
      ["", "a", "s", '"b'],
      ["s", "c<", "", "&d"],
    ]);
  });

  test("routes survive a round trip", () => {
    expect(parse(to.session("a/b"))).toEqual({ view: "session", id: "a/b" });
    expect(parse(to.settings("models"))).toEqual({ view: "settings", section: "models" });
    expect(parse("#/settings/nothing")).toEqual({ view: "settings", section: "general" });
    expect(parse("")).toEqual({ view: "new" });
  });

  test("a one-time token is found in a link, a fragment or alone", () => {
    expect(tokenOf("http://127.0.0.1:8765/#token=abc-DEF_1")).toBe("abc-DEF_1");
    expect(tokenOf("  0123456789abcdef0123 ")).toBe("0123456789abcdef0123");
    expect(tokenOf("hello")).toBe("");
  });
});
