import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { languageFor, translate } from "../src/core/i18n.svelte";
import en from "../src/locales/en";
import zh from "../src/locales/zh-CN";

const words = { en, "zh-CN": zh };

const stem = (key: string): string => key.replace(/\.(one|other)$/, "");
const stems = (table: Record<string, string>): Set<string> => new Set(Object.keys(table).map(stem));
const holes = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]!).sort();

function sources(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .map((f) => {
      if (f.isDirectory()) return sources(`${folder}/${f.name}`);
      return /\.(svelte|ts)$/.test(f.name) ? readFileSync(`${folder}/${f.name}`, "utf8") : "";
    })
    .join("\n");
}

describe("words of the interface", () => {
  test("both languages have the same keys with the same holes", () => {
    expect([...stems(words["zh-CN"])].sort()).toEqual([...stems(words.en)].sort());
    for (const [key, text] of Object.entries(words["zh-CN"])) {
      const table: Record<string, string> = words.en;
      const english = table[key] ?? table[`${stem(key)}.other`] ?? "";
      expect(holes(text), key).toEqual(holes(english));
    }
  });

  test("every key that is spelled in the code exists, and every key is used", () => {
    const code = sources("src");
    const known = stems(words.en);
    const used = [...code.matchAll(/\bt\(\s*"([^"]+)"/g)].map((m) => m[1]!);
    expect(used.length).toBeGreaterThan(0);
    for (const key of used) expect(known, key).toContain(stem(key));
    for (const key of known) {
      const prefix = key.slice(0, key.lastIndexOf(".") + 1);
      const built = prefix !== "" && code.includes("`" + prefix + "${");
      expect(built || code.includes(`"${key}"`), `${key} is never used`).toBe(true);
    }
  });

  test("the language is the setting's, else the browser's first that we have, else English", () => {
    expect(languageFor("zh-CN", ["en"])).toBe("zh-CN");
    expect(languageFor("auto", ["fr", "zh-Hans-CN", "en"])).toBe("zh-CN");
    expect(languageFor("auto", ["en-GB", "zh"])).toBe("en");
    expect(languageFor("auto", ["fr"])).toBe("en");
  });

  test("holes are filled and an unknown one stays visible", () => {
    expect(translate("en", "no such {a} {b}", { a: "x" })).toBe("no such x {b}");
  });
});
