import { expect, test } from "vitest";
import { filtered, iconOf, inkOn, merged, type Item } from "../src/core/github";

const item = (number: number, title: string): Item =>
  ({ number, title, kind: "issue", state: "open" }) as Item;

test("each word is in the title or begins the number", () => {
  const all = [item(412, "Login fails"), item(41, "Dark mode"), item(7, "C++ crash 数据")];
  const numbers = (search: string): number[] => filtered(all, search).map((one) => one.number);
  expect(numbers("")).toEqual([412, 41, 7]);
  expect(numbers("41")).toEqual([412, 41]);
  expect(numbers("#412 login")).toEqual([412]);
  expect(numbers("c++")).toEqual([7]);
  expect(numbers("数据")).toEqual([7]);
  expect(numbers("login dark")).toEqual([]);
});

test("each number stands once, the highest first", () => {
  const all = merged([item(1, "old"), item(3, "c"), item(1, "new")]);
  expect(all.map((one) => [one.number, one.title])).toEqual([[3, "c"], [1, "new"]]);
});

test("a state has its icon", () => {
  expect(iconOf({ kind: "issue", state: "closed" })).toBe("issue-closed");
  expect(iconOf({ kind: "pull_request", state: "merged" })).toBe("pull-merged");
  expect(iconOf({ kind: "pull_request", state: "draft" })).toBe("pull-draft");
});

test("words on a label are read on its colour", () => {
  expect(inkOn("ffffff")).toBe("#000000");
  expect(inkOn("0e0e8a")).toBe("#ffffff");
});
