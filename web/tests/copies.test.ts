import { afterEach, describe, expect, test, vi } from "vitest";
import { bringIn, nameIn } from "../src/core/copies";

afterEach(() => vi.unstubAllGlobals());

test("the name of a file is the UTF-8 one of its head", () => {
  const head = `attachment; filename="_.md"; filename*=UTF-8''%E6%96%87%20a.md`;
  expect(nameIn(head)).toBe("文 a.md");
  expect(nameIn('attachment; filename="a.md"')).toBe("");
});

describe("bringing in a file", () => {
  test("what is no exported session is not sent to the server", async () => {
    const sent = vi.fn();
    vi.stubGlobal("fetch", sent);
    for (const text of ["", "{broken", "[1]", "null", '{"session":{}}']) {
      expect(await bringIn(new Blob([text]))).toBeNull();
    }
    expect(sent).not.toHaveBeenCalled();
  });

  test("an exported session is sent as it is, and its row comes back", async () => {
    const document = { shipmate: 1, session: { title: "T" }, blocks: [{ type: "user" }] };
    let asked: unknown;
    vi.stubGlobal("fetch", async (request: Request) => {
      asked = await request.json();
      return new Response('{"id":"new"}');
    });
    expect(await bringIn(new Blob([JSON.stringify(document)]))).toEqual({ id: "new" });
    expect(asked).toEqual(document);
  });
});
