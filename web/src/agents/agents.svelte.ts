/** The agents with their prompts, and what can be given to them. */
import { api, got } from "../core/api";
import type { components } from "../core/api.gen";
import { server } from "../core/sessions.svelte";

type Wire = components["schemas"];
export type Agent = Wire["AgentProfile"];
export type AgentChange = Wire["ChangeAgent"];
type Page = Wire["AgentPage"];

class Agents {
  page = $state.raw<Page | null>(null);

  async load(): Promise<void> {
    this.page = await got(api.GET("/api/agents"));
  }

  add = (id: string, text: string): Promise<void> =>
    this.took(got(api.POST("/api/agents", { body: { id, text } })));

  change = (agent: string, body: AgentChange): Promise<void> =>
    this.took(got(api.PATCH("/api/agents/{agent}", { params: { path: { agent } }, body })));

  remove = (agent: string): Promise<void> =>
    this.took(got(api.DELETE("/api/agents/{agent}", { params: { path: { agent } } })));

  private async took(answer: Promise<Page>): Promise<void> {
    this.page = await answer;
    await server.load(); // a new chat offers them
  }
}

export const agents = new Agents();

/** The name of an agent for a file: `Doc writer.md` → `Doc-writer`. */
export const nameOf = (file: string): string =>
  file
    .replace(/\.(md|markdown|txt)$/i, "")
    .trim()
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^[-_]+|-+$/g, "")
    .slice(0, 40);
