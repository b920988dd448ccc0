/** What the set-up of models needs to know, from what the server tells. */
import type { Info, ModelInfo } from "../core/sessions.svelte";

/** The provider that plays a script and has no model. */
export const SCRIPTED = "scripted";
export const DEMO = "scripted/demo";
const OFFLINE = "offline";

export const isDemo = (model: string): boolean => model.startsWith(`${SCRIPTED}/`);

/** No model but the demo can be used, and the demo was not chosen. */
export function needsSetup(info: Info, chosen: string): boolean {
  return !isDemo(chosen) && !usable(info).some((model) => !isDemo(model));
}

/** `provider/model` of all that can be used now, as the server orders them. */
export function usable(info: Info): string[] {
  return info.providers.flatMap((provider) =>
    provider.models
      .filter((model) => model.available)
      .map((model) => `${provider.id}/${model.id}`),
  );
}

/** Providers that are set up, of which no model can be used now, and why. */
export function failing(info: Info): { id: string; name: string; why: string }[] {
  return info.providers
    .filter(({ id, available }) => id !== OFFLINE && id !== SCRIPTED && !available)
    .map(({ id, name, models }) => ({ id, name, why: models[0]?.reason ?? "" }));
}

/** The offline models, fetched or not. */
export const offline = (info: Info): ModelInfo[] =>
  info.providers.find((provider) => provider.id === OFFLINE)?.models ?? [];
export const offlineModel = (id: string): string => `${OFFLINE}/${id}`;

/** The name without what it says about its size: "Qwen (1092 MB to download)" → "Qwen". */
export const plainName = (model: ModelInfo): string =>
  model.name.replace(/\s*\([^()]*\)$/, "");

/** Bytes as people read them, in thousands: "1.1 GB", "640 MB", "12 kB". */
export function bytes(count: number, lang = "en"): string {
  const steps = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]] as const;
  for (const [unit, size] of steps) {
    if (count < size * 0.9995) continue;
    const digits = unit === "GB" ? 1 : 0;
    return `${(count / size).toLocaleString(lang, { maximumFractionDigits: digits })} ${unit}`;
  }
  return `${count} B`;
}

/** Whole percent; 100 only when all is there. */
export const percent = (done: number, total: number): number =>
  total > 0 ? Math.min(done >= total ? 100 : 99, Math.floor((100 * done) / total)) : 0;

/** An id that no provider has yet, from its type: "openai", "openai-2". */
export function freeId(type: string, taken: readonly string[]): string {
  if (!taken.includes(type)) return type;
  let n = 2;
  while (taken.includes(`${type}-${n}`)) n++;
  return `${type}-${n}`;
}
