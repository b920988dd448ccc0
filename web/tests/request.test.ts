import { expect, test } from "vitest";
import { address } from "../src/core/request";

test("what an address carries is spelled out", () => {
  expect(address("https://example.com:8443/a%20b?q=1+2&secret=x%3Dy&empty&bad=%zz")).toEqual({
    before: "https://",
    host: "example.com:8443",
    path: "/a b",
    carries: [["q", "1 2"], ["secret", "x=y"], ["empty", ""], ["bad", "%zz"]],
  });
});

test("an address of an odd form is shown as it is", () => {
  expect(address("nonsense").host).toBe("nonsense");
  expect(address("https://[2001:db8::1]/?").host).toBe("[2001:db8::1]");
});
