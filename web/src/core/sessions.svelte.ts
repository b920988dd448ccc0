/** The list of sessions and what the server offers; the sidebar and the composer read these. */
import { api, got } from "./api";
import type { components } from "./api.gen";
import type { Event, SessionRow } from "./protocol";

type Wire = components["schemas"];
export type ModelInfo = Wire["ModelView"];
export type ProviderInfo = Wire["ProviderModels"];
export type Project = Wire["Project"];
export type Info = Wire["Info"];
export type Change = Wire["Change"];

const NOTHING: Info = { version: "", agents: [], providers: [], projects: [], mcp_servers: [], default_model: "" };

const FIRST_PAGE = 40;
const LARGEST_PAGE = 500;

interface Page {
  sessions: SessionRow[];
  cursor: string;
}
type Query = { limit?: number; cursor?: string; status?: SessionRow["status"]; pinned?: "true" };
const page = (query: Query): Promise<Page> =>
  got(
    api.GET("/api/agent/sessions", { params: { query: { archived: "all", ...query } } }),
  ) as Promise<Page>;
/** Those that a person must see whatever their age. */
const BUSY = ["running", "waiting_approval", "waiting_answer"] as const;

class Sessions {
  rows = $state.raw<readonly SessionRow[]>([]);
  loaded = $state(false);
  /** There are older ones on the server. */
  more = $derived.by(() => this.cursor !== "");
  private cursor = $state("");
  /** Why the list could not be read; empty when it could. */
  error = $state("");

  async load(): Promise<void> {
    try {
      const first = await page({ limit: FIRST_PAGE });
      const wanted: Query[] = [...BUSY.map((status) => ({ status })), { pinned: "true" }];
      const busy = first.cursor ? await Promise.all(wanted.map(page)) : [];
      this.rows = merged([first, ...busy].flatMap((one) => one.sessions));
      this.cursor = first.cursor;
      this.error = "";
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
  }

  /** The next older ones; with `all`, every one there is. */
  async older(all = false): Promise<void> {
    while (this.cursor) {
      const limit = all ? LARGEST_PAGE : FIRST_PAGE;
      const next = await page({ limit, cursor: this.cursor });
      this.rows = merged([...this.rows, ...next.sessions]);
      this.cursor = next.cursor;
      if (!all) return;
    }
  }

  /** Takes a row from the stream or an answer; the older of two changes never wins. */
  put(row: SessionRow): void {
    if ((this.get(row.id)?.updated_at ?? 0) > row.updated_at) return;
    const others = this.rows.filter((r) => r.id !== row.id);
    this.rows = newestFirst([row, ...others]);
  }

  /** A fact about any session, from the stream. */
  heard(event: Event): void {
    if (event.type === "session") this.put(event.row);
    if (event.type === "session_deleted" && event.session) this.drop(event.session);
  }

  drop(id: string): void {
    this.rows = this.rows.filter((r) => r.id !== id);
  }

  get(id: string): SessionRow | undefined {
    return this.rows.find((r) => r.id === id);
  }

  async change(id: string, body: Change): Promise<void> {
    const params = { path: { id } };
    this.put((await got(api.PATCH("/api/agent/sessions/{id}", { params, body }))) as SessionRow);
  }
}

const newestFirst = (rows: readonly SessionRow[]): SessionRow[] =>
  [...rows].sort((a, b) => b.updated_at - a.updated_at || (a.id < b.id ? -1 : 1));

/** Each session once, the first that is named, newest first. */
function merged(rows: readonly SessionRow[]): SessionRow[] {
  const byId = new Map<string, SessionRow>();
  for (const row of rows) if (!byId.has(row.id)) byId.set(row.id, row);
  return newestFirst([...byId.values()]);
}

class Server {
  info = $state.raw<Info>(NOTHING);
  loaded = $state(false);
  error = $state("");
  /** The server is of another version than the one this page came from. */
  stale = $state(false);

  async load(): Promise<void> {
    try {
      const info = await got(api.GET("/api/agent/info"));
      this.stale ||= this.info.version !== "" && info.version !== this.info.version;
      this.info = info;
      this.error = "";
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
  }

  async addProject(path: string): Promise<Project> {
    const project = await got(api.POST("/api/projects", { body: { path } }));
    await this.load();
    return project;
  }

  /** Which MCP servers agents may use in a project; `*`: all of them. */
  async projectMcp(project: string, names: string[]): Promise<void> {
    const params = { path: { project } };
    await got(api.PATCH("/api/projects/{project}", { params, body: { mcp: names } }));
    await this.load();
  }

  async removeProject(project: string): Promise<void> {
    await got(api.DELETE("/api/projects/{project}", { params: { path: { project } } }));
    await this.load();
  }
}

/** What a new chat starts with; kept between visits. */
class Choice {
  project = $state(localStorage.getItem("shipmate.project") ?? "");
  provider = $state(localStorage.getItem("shipmate.model") ?? "");
  agent = $state("assistant");

  set(change: { project?: string; provider?: string; agent?: string }): void {
    if (change.agent !== undefined) this.agent = change.agent;
    if (change.project !== undefined) {
      this.project = change.project;
      localStorage.setItem("shipmate.project", change.project);
    }
    if (change.provider !== undefined) {
      this.provider = change.provider;
      localStorage.setItem("shipmate.model", change.provider);
    }
  }
}

export const sessions = new Sessions();
export const server = new Server();
export const choice = new Choice();
