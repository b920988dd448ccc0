/** MCP servers: what is set up, what could be, and what is done with it. */
import { api, got } from "./api";
import type { components } from "./api.gen";
import { words } from "./command";
import { server } from "./sessions.svelte";

type Wire = components["schemas"];
export type McpServer = Wire["ServerView"];
export type McpTool = Wire["ToolView"];
export type Preset = Wire["PresetView"];
export type Proposal = Wire["ProposalView"];

/** While one of these holds, the page looks again soon; else now and then, as tools can change. */
const PASSING = new Set(["connecting", "waiting", "sign_in"]);
const SOON_MS = 1000;
const LATER_MS = 5000;

/** What a person types to add a server. */
export interface Draft {
  name: string;
  transport: "stdio" | "http" | "sse";
  /** The command as one line, or the address. */
  place: string;
  /** `NAME=value` lines: variables, or headers; they go to the secrets. */
  values: string;
}

/** `NAME=value` lines as an object; blank ones are left out. */
export function values(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim());
  const pairs = lines.filter((line) => line.includes("=")).map((line) => {
    const at = line.indexOf("=");
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** Tools that wait for the user: new ones, and changed ones. */
export const waiting = (server: McpServer): McpTool[] =>
  server.tools.filter((tool) => tool.state === "new" || tool.state === "changed");

class Mcp {
  servers = $state.raw<readonly McpServer[]>([]);
  presets = $state.raw<readonly Preset[]>([]);
  proposals = $state.raw<readonly Proposal[]>([]);
  loaded = $state(false);
  /** Why they could not be read; empty when they could. */
  error = $state("");
  private open = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  async load(): Promise<void> {
    clearTimeout(this.timer);
    try {
      const all = await got(api.GET("/api/agent/mcp"));
      [this.servers, this.presets, this.proposals] = [all.servers, all.presets, all.proposals];
      this.error = "";
      const known = server.info.mcp_servers.map((one) => one.name).join();
      if (known !== this.servers.map((one) => one.name).join()) void server.load();
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
    if (this.open) this.timer = setTimeout(() => void this.load(), this.passing ? SOON_MS : LATER_MS);
  }

  enter(): void {
    this.open = true;
    void this.load();
  }

  /** The page is left: nothing looks again. */
  leave(): void {
    this.open = false;
    clearTimeout(this.timer);
  }

  private get passing(): boolean {
    const states = this.servers.some((one) => PASSING.has(one.state));
    return !this.error && (states || this.presets.some((one) => one.state === "running"));
  }

  async add(draft: Draft): Promise<void> {
    const { name, transport } = draft;
    const keys = values(draft.values);
    const place =
      transport === "stdio" ? { command: words(draft.place) } : { url: draft.place.trim() };
    await got(api.POST("/api/agent/mcp", { body: { name: name.trim(), transport, keys, ...place } }));
    await this.load();
  }

  async change(name: string, body: { enabled?: boolean; off?: string[] }): Promise<void> {
    const params = { path: { name } };
    await got(api.PATCH("/api/agent/mcp/{name}", { params, body: { keys: {}, ...body } }));
    await this.load();
  }

  /** Changes how it is reached; an empty `place` stays, values are added to those it has. */
  async reach(server: McpServer, place: string, given: string): Promise<void> {
    const changed =
      server.transport === "stdio" ? { command: words(place) } : { url: place.trim() };
    const body = { keys: values(given), ...(place.trim() ? changed : {}) };
    await got(api.PATCH("/api/agent/mcp/{name}", { params: { path: { name: server.name } }, body }));
    await this.load();
  }

  async remove(name: string): Promise<void> {
    await got(api.DELETE("/api/agent/mcp/{name}", { params: { path: { name } } }));
    await this.load();
  }

  async refresh(name = ""): Promise<void> {
    await got(api.POST("/api/agent/mcp/refresh", { body: { server: name } }));
    await this.load();
  }

  /** Accepts tools exactly as they were shown. */
  async accept(server: string, tools: readonly McpTool[]): Promise<void> {
    const shown = Object.fromEntries(tools.map((tool) => [tool.name, tool.hash]));
    await got(api.POST("/api/agent/mcp/accept", { body: { server, tools: shown } }));
    await this.load();
  }

  async install(preset: Preset): Promise<void> {
    const params = { path: { preset: preset.id } };
    const body = { commands: preset.commands };
    await got(api.POST("/api/agent/mcp/presets/{preset}", { params, body }));
    await this.load();
  }

  async take(one: Proposal): Promise<void> {
    const { project, name, hash } = one;
    await got(api.POST("/api/agent/mcp/proposals", { body: { project, name, hash } }));
    await this.load();
  }
}

export const mcp = new Mcp();
