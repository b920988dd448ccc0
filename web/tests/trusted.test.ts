// What DOMPurify lets through is tested in a real browser, with the whole set of hostile cases.
import { expect, test } from "vitest";
import { ownWorker } from "../src/core/trusted";

test("a worker from another origin is refused", () => {
  expect(() => ownWorker("https://evil.example/w.js")).toThrow(/own files/);
});
