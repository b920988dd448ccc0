/**
 * Words of the interface. `t(key, {n: 3})` reads the language in a reactive way, so a change
 * needs no reload. A key with plural forms is kept as `key.one` and `key.other`. The words of a
 * language are loaded when it is first spoken; until then the page keeps the one it has.
 */
import type en from "../locales/en";
import { settings } from "./settings.svelte";

type Table = Record<string, string>;
const LANGUAGES = {
  en: (): Promise<{ default: Table } | undefined> => import("../locales/en"),
  "zh-CN": (): Promise<{ default: Table } | undefined> => import("../locales/zh-CN"),
};
export type Language = keyof typeof LANGUAGES;
type Plural<K> = K extends `${infer Stem}.other` ? Stem : never;
export type Key = keyof typeof en | Plural<keyof typeof en>;
export type Values = Record<string, string | number>;

class Spoken {
  tables = $state.raw<Partial<Record<Language, Table>>>({});
  /** The one that holds where another is still on its way. */
  last: Language = "en";
}
const spoken = new Spoken();

/** The language in force for a setting and what the browser asks for. */
export function languageFor(setting: string, preferred: readonly string[]): Language {
  if (setting === "en" || setting === "zh-CN") return setting;
  const first = preferred.find((tag) => /^(en|zh)\b/i.test(tag)) ?? "en";
  return /^zh/i.test(first) ? "zh-CN" : "en";
}

/** The language that is chosen; the page speaks it once its words are here. */
export const wanted = (): Language =>
  languageFor(settings.interface.language, navigator.languages ?? [navigator.language]);

export const language = (): Language => (spoken.tables[wanted()] ? wanted() : spoken.last);

/** Loads the words of a language. Nothing comes where the server's files are newer: `Stale` says so. */
export async function speak(lang: Language): Promise<void> {
  const known = spoken.tables[lang];
  const loaded = known ?? (await LANGUAGES[lang]())?.default;
  if (loaded) spoken.last = lang;
  if (loaded && !known) spoken.tables = { ...spoken.tables, [lang]: loaded };
}

export function translate(lang: Language, key: string, values: Values = {}): string {
  const table = spoken.tables[lang] ?? {};
  const form = new Intl.PluralRules(lang).select(Number(values["n"] ?? 0));
  const pattern = table[key] ?? table[`${key}.${form}`] ?? table[`${key}.other`] ?? key;
  return pattern.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? value.toLocaleString(lang) : value;
  });
}

export const t = (key: Key, values?: Values): string => translate(language(), key, values);
