/** Where the page is: `#/` (new chat), `#/s/<session>` (at a block: `/<pos>/<block>`), `#/search/<words>`,
 * `#/inbox`, `#/settings/<section>`, `#/dashboard`, `#/github/<project>/<number>`. */

export const SECTIONS = [
  ...(["general", "models", "agents", "projects", "limits", "mcp", "rules", "usage"] as const),
  ...(["account", "users", "audit", "keys", "about"] as const),
] as const;
export type Section = (typeof SECTIONS)[number];
export const FOR_ADMINS: ReadonlySet<Section> = new Set(["mcp", "limits", "users", "audit"]);
export interface Place {
  pos: number;
  block: string;
}
export type Route =
  | { view: "new" }
  | { view: "session"; id: string; at?: Place }
  | { view: "search"; words: string }
  | { view: "inbox" }
  | { view: "dashboard" }
  | { view: "github"; project: string; number: string }
  | { view: "settings"; section: Section };

export function parse(hash: string): Route {
  const [, view, id, pos, block] = hash.replace(/^#/, "").split("/").map(decoded);
  if (view === "s" && id) {
    const at = block && /^\d{1,15}$/.test(pos ?? "") ? { at: { pos: Number(pos), block } } : {};
    return { view: "session", id, ...at };
  }
  if (view === "search") return { view, words: id ?? "" };
  if (view === "inbox" || view === "dashboard") return { view };
  if (view === "github") return { view, project: id ?? "", number: pos ?? "" };
  if (view !== "settings") return { view: "new" };
  return { view: "settings", section: SECTIONS.find((name) => name === id) ?? "general" };
}

/** What is no encoding stays as it is: an address may be typed. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const to = {
  new: "#/",
  inbox: "#/inbox",
  dashboard: "#/dashboard",
  github: (project = "", number?: number): string =>
    `#/github${project ? `/${encodeURIComponent(project)}` : ""}${number ? `/${number}` : ""}`,
  settings: (section: Section = "general"): string => `#/settings/${section}`,
  session: (id: string, at?: Place): string =>
    `#/s/${encodeURIComponent(id)}${at ? `/${at.pos}/${encodeURIComponent(at.block)}` : ""}`,
  search: (words = ""): string => `#/search${words ? `/${encodeURIComponent(words)}` : ""}`,
};

class Router {
  route = $state.raw<Route>(parse(location.hash));

  constructor() {
    addEventListener("hashchange", () => (this.route = parse(location.hash)));
  }

  /** `replace`: the place left is not kept in the history (a new chat that got its id). */
  go(hash: string, replace = false): void {
    if (replace) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
    this.route = parse(hash);
  }
}

export const router = new Router();
