/** The providers that are set up, those found on this machine, and setting one up. */
import type { components } from "../core/api.gen";
import { api, got } from "../core/api";
import { choice, server } from "../core/sessions.svelte";
import { usable } from "./setup";

type Schemas = components["schemas"];
export type Configured = Schemas["ProviderView"];
export type Found = Schemas["FoundView"];
export type Kind = Schemas["TypeView"];
export type Tested = Schemas["Tested"];
/** What is posted: the provider, and a pasted `key` or the variable `env`. */
export type Setup = Schemas["Setup"];

const listed = (id: string): boolean => !!server.info.providers?.some((one) => one.id === id);

class Providers {
  configured = $state.raw<readonly Configured[]>([]);
  found = $state.raw<readonly Found[]>([]);
  kinds = $state.raw<readonly Kind[]>([]);
  loaded = $state(false);
  /** Why they could not be read; empty when they could. */
  error = $state("");

  /** Looking for servers on this machine takes the server up to a second. */
  async load(): Promise<void> {
    try {
      const all = await got(api.GET("/api/providers"));
      [this.configured, this.found, this.kinds] = [all.configured, all.found, all.types];
      this.error = "";
      if (this.configured.some((one) => !listed(one.id))) await server.load();
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
  }

  /** Asks the providers' servers anew which models they have. */
  async retry(): Promise<void> {
    await got(api.GET("/api/models", { params: { query: { refresh: true } } }));
    await server.load();
  }

  test(setup: Setup): Promise<Tested> {
    return got(api.POST("/api/providers/test", { body: setup }));
  }

  /** Sets it up; new chats then start with its first model, whose name is returned. */
  async add(setup: Setup): Promise<string> {
    const made = await got(api.POST("/api/providers", { body: setup }));
    await Promise.all([this.load(), server.load()]);
    const first = usable(server.info).find((model) => model.startsWith(`${made.id}/`)) ?? "";
    if (first) choice.set({ provider: first });
    return first;
  }

  async remove(id: string): Promise<void> {
    await got(api.DELETE("/api/providers/{id}", { params: { path: { id } } }));
    await Promise.all([this.load(), server.load()]);
  }
}

export const providers = new Providers();
