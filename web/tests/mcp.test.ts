import { describe, expect, test } from "vitest";
import { values, waiting, type McpServer, type McpTool } from "../src/core/mcp.svelte";

describe("what is typed for a server", () => {
  test("is a value a line, in which only the first = counts", () => {
    expect(values("TOKEN = a=b\n\n  Authorization=Bearer x  \nno sign here")).toEqual({
      TOKEN: "a=b",
      Authorization: "Bearer x",
    });
    expect(values("")).toEqual({});
  });
});

test("new and changed tools wait for the user; those that are on or off do not", () => {
  const tools = ["on", "new", "off", "changed"].map((state) => ({ name: state, state }) as McpTool);
  expect(waiting({ tools } as McpServer).map((tool) => tool.name)).toEqual(["new", "changed"]);
});
