import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DEFAULTS } from "../src/core/protocol";

/** Name of each schema to its fields' defaults, as the generated types carry them in comments. */
function documented(): Map<string, Record<string, string>> {
  const text = readFileSync("src/core/api.gen.d.ts", "utf8");
  const found = new Map<string, Record<string, string>>();
  for (const [, body] of text.matchAll(/^ {8}\w+: \{\n([\s\S]*?)^ {8}\};/gm)) {
    const type = /^ {12}type: "(\w+)";/m.exec(body!)?.[1];
    if (!type) continue;
    const fields = body!.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*?@default(?:(?!\*\/)[\s\S])*)\*\/\s*(\w+)\??:/g);
    found.set(type, Object.fromEntries([...fields].map(([, comment, name]) => [name!, value(comment!)])));
  }
  return found;
}

/** What stands after `@default` in a comment, as one line without blanks. */
function value(comment: string): string {
  const text = comment.replace(/^\s*\*/gm, "").split("@default")[1]!;
  return text.split("@enum")[0]!.replace(/\s+/g, "");
}

const BASE = ["session", "pos", "seq", "at", "parent"];

test("the defaults put back are those of the server", () => {
  const schemas = documented();
  for (const [type, defaults] of Object.entries(DEFAULTS)) {
    const given = schemas.get(type)!;
    expect(given, type).toBeDefined();
    const own = Object.entries(given).filter(([name]) => !BASE.includes(name));
    const plain = (item: unknown): string => (typeof item === "string" ? item : JSON.stringify(item));
    const ours = Object.entries(defaults).map(([name, item]) => [name, plain(item)]);
    expect(Object.fromEntries(own), type).toEqual(Object.fromEntries(ours));
  }
});
