import { expect, test } from "vitest";
import { ownSharedWorker, ownWorker } from "../src/core/workers";

test("a worker that is not one of the page's own files is refused, of its own origin, too", () => {
  for (const url of ["https://evil.example/w.js", "/api/files/1", "data:text/javascript,1"]) {
    expect(() => ownWorker(url)).toThrow(/own files/);
    expect(() => ownSharedWorker(url)).toThrow(/own files/);
  }
});
