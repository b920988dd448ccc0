/** The list of sessions and what the server offers; the sidebar and the composer read these. */
import { get, patch, post, remove, sessionPath } from "./api";
import type { Event, SessionRow } from "./protocol";

export interface ModelInfo {
  /** Model id within its provider. */
  id: string;
  name?: string;
  context_length?: number;
  vision?: boolean;
  thinking?: boolean;
  available?: boolean;
  /** Why it cannot be chosen now. */
  reason?: string;
}
export interface ProviderInfo {
  id: string;
  name?: string;
  type: string;
  available?: boolean;
  reason?: string;
  models?: ModelInfo[];
}
export interface AgentInfo { id: string; description?: string }
export interface Project { id: string; name: string; path: string; missing?: boolean }
export interface Info {
  version?: string;
  agents?: AgentInfo[];
  providers?: ProviderInfo[];
  projects?: Project[];
}

class Sessions {
  rows = $state.raw<readonly SessionRow[]>([]);
  loaded = $state(false);
  /** Why the list could not be read; empty when it could. */
  error = $state("");

  async load(): Promise<void> {
    try {
      const answer = await get<{ sessions: SessionRow[] }>("/api/agent/sessions?limit=200");
      this.rows = newestFirst(answer.sessions);
      this.error = "";
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
  }

  /** Takes a row from the stream or an answer; the older of two changes never wins. */
  put(row: SessionRow): void {
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

  async change(id: string, change: Partial<SessionRow>): Promise<void> {
    this.put(await patch<SessionRow>(sessionPath(id), change));
  }

  async delete(id: string): Promise<void> {
    await remove(sessionPath(id));
    this.drop(id);
  }
}

const newestFirst = (rows: readonly SessionRow[]): SessionRow[] =>
  [...rows].sort((a, b) => b.updated_at - a.updated_at || (a.id < b.id ? -1 : 1));

class Server {
  info = $state.raw<Info>({});
  loaded = $state(false);
  error = $state("");

  async load(): Promise<void> {
    try {
      this.info = await get<Info>("/api/agent/info");
      this.error = "";
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
  }

  async addProject(path: string): Promise<Project> {
    const project = await post<Project>("/api/projects", { path });
    await this.load();
    return project;
  }
}

/** What a new chat starts with; kept between visits. */
class Choice {
  project = $state(localStorage.getItem("shipmate.project") ?? "");
  provider = $state(localStorage.getItem("shipmate.model") ?? "");
  agent = $state("assistant");

  set(change: { project?: string; provider?: string }): void {
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
