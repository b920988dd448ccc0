/** The user's rules: what was decided ahead. */
import { api, got } from "./api";
import type { components } from "./api.gen";

type Wire = components["schemas"];
export type Rule = Required<Wire["Rule"]>;
export type Trial = Wire["Trial"];
export type Kind = Wire["TryRule"]["kind"];
/** What a person writes of a rule. */
export type Draft = Pick<Rule, "effect" | "text" | "scope" | "project" | "session">;

export interface Group {
  /** `everywhere`, `project:<id>`, `session:<id>`. */
  key: string;
  scope: Rule["scope"];
  /** Id of the project or the session. */
  of: string;
  rules: Rule[];
}

const ORDER = ["everywhere", "project", "session"] as const;
const STRENGTH = { deny: 0, ask: 1, allow: 2 } as const;

/** Rules by where they hold; in a group in the order in which they are asked. */
export function grouped(rules: readonly Rule[]): Group[] {
  const groups = new Map<string, Group>();
  for (const rule of rules) {
    const of = rule.scope === "everywhere" ? "" : rule[rule.scope];
    const key = of ? `${rule.scope}:${of}` : rule.scope;
    const group = groups.get(key) ?? { key, scope: rule.scope, of, rules: [] };
    groups.set(key, group);
    group.rules.push(rule);
  }
  for (const { rules: own } of groups.values()) {
    own.sort((a, b) => STRENGTH[a.effect] - STRENGTH[b.effect] || (a.text < b.text ? -1 : 1));
  }
  return [...groups.values()].sort(
    (a, b) => ORDER.indexOf(a.scope) - ORDER.indexOf(b.scope) || (a.of < b.of ? -1 : 1),
  );
}

class Rules {
  all = $state.raw<readonly Rule[]>([]);
  loaded = $state(false);
  /** Why they could not be read; empty when they could. */
  error = $state("");
  /** The one that was removed last, for an undo. */
  removed = $state.raw<Rule | null>(null);

  async load(): Promise<void> {
    try {
      const { rules } = await got(api.GET("/api/agent/rules"));
      this.all = rules as Rule[];
      this.error = "";
    } catch (error) {
      this.error = (error as Error).message;
    }
    this.loaded = true;
  }

  async write(body: Draft): Promise<void> {
    this.put((await got(api.POST("/api/agent/rules", { body }))) as Rule);
  }

  async change(rule: string, body: Partial<Draft> & { enabled?: boolean }): Promise<void> {
    await got(api.PATCH("/api/agent/rules/{rule}", { params: { path: { rule } }, body }));
    await this.load(); // one that became the same as another took its place
  }

  async remove(rule: Rule): Promise<void> {
    await got(api.DELETE("/api/agent/rules/{rule}", { params: { path: { rule: rule.id } } }));
    this.all = this.all.filter(({ id }) => id !== rule.id);
    this.removed = rule;
  }

  /** Writes the one that was removed last again, off where it was off. */
  async undo(): Promise<void> {
    if (!this.removed) return;
    const { effect, text, scope, project, session, enabled } = this.removed;
    const body = { effect, text, scope, project, session };
    const made = (await got(api.POST("/api/agent/rules", { body }))) as Rule;
    this.put(made);
    this.removed = null;
    if (!enabled) await this.change(made.id, { enabled });
  }

  private put(rule: Rule): void {
    this.all = [...this.all.filter(({ id }) => id !== rule.id), rule];
  }
}

export const tryOut = (kind: Kind, value: string, project: string): Promise<Trial> =>
  got(api.POST("/api/agent/rules/test", { body: { kind, value, project } }));

export const rules = new Rules();
