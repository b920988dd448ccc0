/** What was used, added up by day, model and session. */
import type { components } from "../core/api.gen";

export type UsageRow = components["schemas"]["UsageRow"];

export interface Sum {
  key: string;
  requests: number;
  tokens: number;
  cost: number;
}

/** One sum for each value of `key`, what used most first. */
export function sumsBy(rows: readonly UsageRow[], key: "day" | "model" | "session"): Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const sum = sums.get(row[key]) ?? { key: row[key], requests: 0, tokens: 0, cost: 0 };
    sum.requests += row.requests;
    sum.tokens += row.prompt + row.completion;
    sum.cost += row.cost;
    sums.set(row[key], sum);
  }
  return [...sums.values()].sort((a, b) => b.tokens - a.tokens);
}

/** The last `days` days up to `today` (`2026-11-30`), those without any use among them. */
export function byDay(rows: readonly UsageRow[], days: number, today: string): Sum[] {
  const known = new Map(sumsBy(rows, "day").map((sum) => [sum.key, sum]));
  return Array.from({ length: days }, (_, i) => {
    const day = new Date(`${today}T12:00:00Z`);
    day.setUTCDate(day.getUTCDate() - (days - 1 - i));
    const key = day.toISOString().slice(0, 10);
    return known.get(key) ?? { key, requests: 0, tokens: 0, cost: 0 };
  });
}

/** The lowest of 1, 2, 5, 10, 20, … that is not below `value`: where an axis ends. */
export function ceiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((top) => top >= value * 0.999999)!;
}

/** This browser's day, as the server writes one. */
export function dayOf(at: Date): string {
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}
