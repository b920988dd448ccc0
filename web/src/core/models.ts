/** The models that can be chosen, grouped by provider, and which one is meant by a name. */
import type { Info, ModelInfo, ProviderInfo } from "./sessions.svelte";

export interface Choosable extends ModelInfo {
  /** `<provider>/<model>`, as sessions name it. */
  value: string;
  usable: boolean;
  why: string;
}
export interface Group {
  provider: ProviderInfo;
  models: Choosable[];
}

/** Groups whose model or provider contains every word of `search`. */
export function groups(info: Info, search = ""): Group[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return info.providers
    .map((provider) => ({ provider, models: models(provider).filter((m) => matches(m, provider, words)) }))
    .filter((group) => group.models.length > 0);
}

function models(provider: ProviderInfo): Choosable[] {
  return provider.models.map((model) => ({
    ...model,
    value: `${provider.id}/${model.id}`,
    usable: model.available,
    why: model.reason,
  }));
}

function matches(model: Choosable, provider: ProviderInfo, words: string[]): boolean {
  const text = `${model.value} ${model.name} ${provider.name}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The model a new chat starts with: the remembered one if it can be used, else the first that can. */
export function startModel(info: Info, remembered: string): string {
  const all = groups(info).flatMap((group) => group.models);
  const usable = all.filter((model) => model.usable);
  const named = (value: string) => usable.find((model) => model.value === value);
  return (named(remembered) ?? named(info.default_model) ?? usable[0])?.value ?? "";
}
