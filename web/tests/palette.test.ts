import { beforeEach, expect, test } from "vitest";
import { palette } from "../src/core/palette.svelte";

const press = (key: string, held: Partial<KeyboardEvent> = {}): boolean =>
  palette.takes({ key, ctrlKey: false, metaKey: false, altKey: false, ...held });

beforeEach(() => palette.close());

test("what is typed before the palette has come is its own, up to the moment it has come", () => {
  expect(press("a")).toBe(false);
  palette.ask();
  expect([..."fix", "Backspace", "é", "👍", "Backspace"].map((key) => press(key))).not.toContain(false);
  expect(palette.words).toBe("fié");
  expect(palette.ready()).toBe(false);
  expect(press("x")).toBe(false);
  expect(palette.words).toBe("fié");
});

test("shortcuts and keys without a letter go their own way", () => {
  palette.ask();
  for (const held of ["ctrlKey", "metaKey", "altKey"]) expect(press("k", { [held]: true })).toBe(false);
  for (const key of ["Shift", "F5", "Dead"]) expect(press(key)).toBe(false);
  expect(palette.words).toBe("");
});

test("Escape closes it on its way, Enter is kept for it, and it is empty when asked for anew", () => {
  palette.ask();
  press("a");
  palette.ask(); // Ctrl+K once more
  expect(palette.words).toBe("a");
  expect([press("Enter"), press("b")]).toEqual([true, true]);
  expect([palette.words, palette.ready()]).toEqual(["a", true]);
  palette.close();
  palette.ask();
  expect([palette.words, palette.ready()]).toEqual(["", false]);
  palette.close();
  palette.ask();
  expect([press("Escape"), palette.shown, press("a")]).toEqual([true, false, false]);
});
