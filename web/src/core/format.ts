/** Numbers and times as people read them, in the interface's language. */

const whole = (n: number): string => (n < 10 ? String(Math.round(n * 10) / 10) : String(Math.round(n)));

/** 950 → "950", 12,400 → "12k", 128,000 → "128k", 1,250,000 → "1.3M". */
export function compact(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  return tokens < 999_500 ? `${whole(tokens / 1000)}k` : `${whole(tokens / 1_000_000)}M`;
}

/** Seconds: "0.4 s", "14 s", "2 min 5 s", "1 h 3 min". */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/** "14:05", with the day before it when it is not today. */
export function time(at: number, lang: string, now = Date.now()): string {
  const day = sameDay(at, now) ? {} : ({ day: "numeric", month: "short" } as const);
  const clock = { hour: "2-digit", minute: "2-digit" } as const;
  return new Intl.DateTimeFormat(lang, { ...day, ...clock }).format(at);
}

export const sameDay = (a: number, b: number): boolean =>
  new Date(a).toDateString() === new Date(b).toDateString();

/** The model without its provider: "openai/gpt-4o" → "gpt-4o". */
export const shortModel = (model: string): string => model.slice(model.indexOf("/") + 1);
