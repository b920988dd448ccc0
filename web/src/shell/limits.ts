/** The settings with a field, as texts and back. */
import type { components } from "../core/api.gen";

type View = components["schemas"]["SettingsView"];

export const FIELDS = {
  budgets: ["budgets-round_tokens", "budgets-session_cost", "budgets-day_cost"],
  limits: ["limits-compact_at", "limits-tool_result_chars", "limits-read_files_bytes", "limits-reads_per_round"],
  web: ["web-hosts", "web-proxy", "web-seconds"],
  sandbox: ["sandbox-mode", "sandbox-read", "sandbox-write"],
} as const;
export type FieldName = (typeof FIELDS)[keyof typeof FIELDS][number];
export type Wrong = "whole" | "number";

const WHOLE = new Set<string>([
  "budgets-round_tokens",
  "limits-tool_result_chars",
  "limits-read_files_bytes",
  "limits-reads_per_round",
]);
/** Shown as percent. */
const SHARE = "limits-compact_at";

const valueOf = (view: View, name: string): unknown => {
  const [section, key] = name.split("-") as ["budgets" | "limits" | "web" | "sandbox", string];
  return view[section][key];
};

export function textOf(view: View, name: FieldName): string {
  const value = valueOf(view, name);
  if (Array.isArray(value)) return value.join(", ");
  return name === SHARE ? String(Math.round(Number(value) * 100)) : String(value ?? "");
}

/** What differs from `view`, by section; and the fields whose text is no such value. */
export function changesOf(
  view: View,
  texts: Record<string, string>,
): { changes: Record<string, Record<string, unknown>>; wrong: Partial<Record<FieldName, Wrong>> } {
  const changes: Record<string, Record<string, unknown>> = {};
  const wrong: Partial<Record<FieldName, Wrong>> = {};
  for (const name of Object.values(FIELDS).flat()) {
    const text = (texts[name] ?? "").trim();
    if (text === textOf(view, name)) continue;
    const value = read(name, text, valueOf(view, name));
    if (value === undefined) wrong[name] = WHOLE.has(name) ? "whole" : "number";
    else (changes[name.split("-")[0]!] ??= {})[name.split("-")[1]!] = value;
  }
  return { changes, wrong };
}

/** Undefined: the text is no such value. What a number may be, the server says. */
function read(name: string, text: string, before: unknown): unknown {
  if (Array.isArray(before)) return text.split(/[,\n]/).map((one) => one.trim()).filter(Boolean);
  if (typeof before !== "number") return text;
  const plain = text.replace(/[\s,_]/g, "");
  if (!(WHOLE.has(name) ? /^\d{1,15}$/ : /^\d{1,12}(\.\d{1,6})?$/).test(plain)) return undefined;
  return name === SHARE ? Number(plain) / 100 : Number(plain);
}
