/**
 * Words of the interface. `t(key, {n: 3})` reads the language in a reactive way, so a change
 * needs no reload. A key with plural forms is kept as `key.one` and `key.other`.
 */
import changesEn from "../locales/changes.en.json";
import changesZh from "../locales/changes.zh-CN.json";
import mcpEn from "../locales/mcp.en.json";
import mcpZh from "../locales/mcp.zh-CN.json";
import peopleEn from "../locales/people.en.json";
import peopleZh from "../locales/people.zh-CN.json";
import placesEn from "../locales/places.en.json";
import placesZh from "../locales/places.zh-CN.json";
import safetyEn from "../locales/safety.en.json";
import safetyZh from "../locales/safety.zh-CN.json";
import shellEn from "../locales/shell.en.json";
import shellZh from "../locales/shell.zh-CN.json";
import threadEn from "../locales/thread.en.json";
import threadZh from "../locales/thread.zh-CN.json";
import { settings } from "./settings.svelte";

const en = { ...threadEn, ...shellEn, ...safetyEn, ...peopleEn, ...mcpEn, ...changesEn, ...placesEn };
export const words = { en, "zh-CN": { ...threadZh, ...shellZh, ...safetyZh, ...peopleZh, ...mcpZh, ...changesZh, ...placesZh } as Record<string, string> };
export type Language = keyof typeof words;
type Plural<K> = K extends `${infer Stem}.other` ? Stem : never;
export type Key = keyof typeof en | Plural<keyof typeof en>;
export type Values = Record<string, string | number>;

/** The language in force for a setting and what the browser asks for. */
export function languageFor(setting: string, preferred: readonly string[]): Language {
  if (setting === "en" || setting === "zh-CN") return setting;
  const first = preferred.find((tag) => /^(en|zh)\b/i.test(tag)) ?? "en";
  return /^zh/i.test(first) ? "zh-CN" : "en";
}

export const language = (): Language =>
  languageFor(settings.interface.language, navigator.languages ?? [navigator.language]);

export function translate(lang: Language, key: string, values: Values = {}): string {
  const table: Record<string, string> = words[lang];
  const form = new Intl.PluralRules(lang).select(Number(values["n"] ?? 0));
  const pattern = table[key] ?? table[`${key}.${form}`] ?? table[`${key}.other`] ?? key;
  return pattern.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? value.toLocaleString(lang) : value;
  });
}

export const t = (key: Key, values?: Values): string => translate(language(), key, values);
