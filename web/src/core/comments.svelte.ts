/** Comments on lines of a diff: collected, kept in this browser, and sent as one message. */
import { PREFIX } from "./drafts";
import { newId } from "./ids";

export interface Comment {
  id: string;
  path: string;
  line: number;
  /** The line is one of the file as it was before. */
  before: boolean;
  code: string;
  text: string;
}
export type Spot = Omit<Comment, "id" | "text">;

export class Comments {
  list = $state.raw<readonly Comment[]>([]);
  private readonly key: string;

  constructor(
    session: string,
    private readonly store: Storage = localStorage,
  ) {
    this.key = `${PREFIX}comments:${session}`; // goes with the drafts when somebody signs out
    try {
      this.list = JSON.parse(store.getItem(this.key) ?? "[]") as Comment[];
    } catch {
      this.list = [];
    }
  }

  at(spot: Spot): Comment[] {
    return this.list.filter((one) => same(one, spot));
  }

  /** A text for a line, or for the comment `id`; an empty one takes it away. */
  put(spot: Spot, text: string, id = ""): void {
    const others = this.list.filter((one) => one.id !== id);
    const { path, line, before, code } = spot;
    const made = { id: id || newId(), path, line, before, code, text: text.trim() };
    this.keep(made.text ? [...others, made] : others);
  }

  remove(id: string): void {
    this.keep(this.list.filter((one) => one.id !== id));
  }

  clear(): void {
    this.keep([]);
  }

  private keep(list: readonly Comment[]): void {
    this.list = [...list].sort(byPlace);
    try {
      if (list.length) this.store.setItem(this.key, JSON.stringify(this.list));
      else this.store.removeItem(this.key);
    } catch {
      // a full storage: they live in this page until they are sent
    }
  }
}

const same = (one: Spot, other: Spot): boolean =>
  one.path === other.path && one.line === other.line && one.before === other.before;

const byPlace = (a: Comment, b: Comment): number =>
  a.path.localeCompare(b.path) || a.line - b.line || Number(b.before) - Number(a.before);

const QUOTED = 300;

/** One message of them: each with its place and the line it is about. */
export function asMessage(list: readonly Comment[], title: string, before: string): string {
  const parts = list.map((one) => {
    const place = `${one.path}:${one.line}${one.before ? ` (${before})` : ""}`;
    const code = one.code.length > QUOTED ? `${one.code.slice(0, QUOTED)}…` : one.code;
    return `${place}\n> ${code}\n${one.text}`;
  });
  return [title, ...parts].join("\n\n");
}
