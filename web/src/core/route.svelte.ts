/** Where the page is: `#/` (new chat), `#/s/<session>`, `#/inbox`, `#/settings/<section>`. */

export const SECTIONS = [
  ...(["general", "models", "agents", "projects", "limits", "mcp", "rules", "usage"] as const),
  ...(["account", "users", "audit", "keys", "about"] as const),
] as const;
export type Section = (typeof SECTIONS)[number];
export const FOR_ADMINS: ReadonlySet<Section> = new Set(["mcp", "limits", "users", "audit"]);
export type Route =
  | { view: "new" }
  | { view: "session"; id: string }
  | { view: "inbox" }
  | { view: "settings"; section: Section };

export function parse(hash: string): Route {
  const [, view, id] = hash.replace(/^#/, "").split("/");
  if (view === "s" && id) return { view: "session", id: decodeURIComponent(id) };
  if (view === "inbox") return { view };
  if (view !== "settings") return { view: "new" };
  return { view: "settings", section: SECTIONS.find((name) => name === id) ?? "general" };
}

export const to = {
  new: "#/",
  inbox: "#/inbox",
  settings: (section: Section = "general"): string => `#/settings/${section}`,
  session: (id: string): string => `#/s/${encodeURIComponent(id)}`,
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
