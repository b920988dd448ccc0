import { describe, expect, test } from "vitest";
import { BEHIND, Smooth } from "../src/core/smooth";

/** Deterministic numbers from 0 to 1. */
function* drawn(seed: number): Generator<number, never> {
  for (;;) yield (seed = (seed * 16807) % 2147483647) / 2147483647;
}

describe("text that comes in bursts", () => {
  test("is let out evenly, and whole", () => {
    const smooth = new Smooth();
    smooth.add("x".repeat(120), 0);
    const frames = Array.from({ length: 12 }, (_, i) => smooth.take((i + 1) * 16).length);
    expect(frames.reduce((a, b) => a + b)).toBe(120);
    expect(Math.max(...frames.slice(0, 5))).toBeLessThan(40);
    expect(smooth.waiting).toBe(false);
  });

  test("is never further behind than promised, whatever comes when, and nothing is lost", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = drawn(seed);
      const smooth = new Smooth();
      const came: { at: number; length: number }[] = [];
      let [now, sent, out] = [0, "", ""];
      for (let i = 0; i < 300; i++) {
        now += 1 + random.next().value * 60;
        if (random.next().value < 0.5) {
          const burst = "αβ😀c".repeat(1 + Math.floor(random.next().value * 40));
          sent += burst;
          smooth.add(burst, now);
        }
        came.push({ at: now, length: sent.length });
        out += smooth.take(now);
        const due = came.findLast(({ at }) => now - at >= BEHIND)?.length ?? 0;
        expect(out.length).toBeGreaterThanOrEqual(due);
        expect(sent.startsWith(out)).toBe(true);
        expect(/[\ud800-\udbff]$/.test(out)).toBe(false);
      }
      expect(out + smooth.all()).toBe(sent);
    }
  });
});
