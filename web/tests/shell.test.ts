import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { SessionRow } from "../src/core/protocol";
import { server, sessions, type Info, type ModelInfo, type ProviderInfo } from "../src/core/sessions.svelte";
import { settings } from "../src/core/settings.svelte";
import { Download } from "../src/shell/download.svelte";
import { spoken } from "../src/shell/line";
import { badge, byDay, dayOf, filtered, pageTitle } from "../src/shell/list";
import { bytes, failing, freeId, needsSetup, percent, plainName, usable } from "../src/shell/setup";

const row = (fields: Partial<SessionRow> = {}): SessionRow => ({
  id: "a", agent: "assistant", provider: "openai/gpt", project: "p1", title: "Fix login",
  bypass_approval: false, archived: false, status: "idle", pending_approval: "",
  pending_question: "", created_at: 0, updated_at: 0, last_seq: 0, tokens: 0,
  context_usage: null, error: "", untrusted: false, owner: "", readers: [], pinned: false, ...fields,
});
const ids = (rows: readonly SessionRow[]): string => rows.map((r) => r.id).join("");

/** Answers each call by its method and path; what is not foreseen fails the test. */
function answering(answers: Record<string, unknown>): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(async (request: Request) => {
    const key = `${request.method} ${request.url.replace(location.origin, "")}`;
    if (!(key in answers)) throw new Error(`not foreseen: ${key}`);
    const body = answers[key];
    return body instanceof Response ? body : new Response(JSON.stringify(body));
  });
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

afterEach(() => vi.unstubAllGlobals());

describe("list of sessions", () => {
  const NOON = new Date(2026, 2, 30, 12).getTime(); // the day after a clock change in Europe
  const at = (days: number, hour = 12): number => new Date(2026, 2, 30 - days, hour).getTime();

  test("a day is the calendar's, not 24 hours", () => {
    expect(dayOf(at(0, 0), NOON)).toBe("today");
    expect(dayOf(at(1, 23), NOON)).toBe("yesterday");
    expect(dayOf(at(1, 0), NOON)).toBe("yesterday");
    expect(dayOf(at(2, 23), NOON)).toBe("week");
    expect(dayOf(at(7, 0), NOON)).toBe("week");
    expect(dayOf(at(8, 23), NOON)).toBe("older");
  });

  test("a clock that is a little ahead does not make an unknown day", () => {
    expect(dayOf(NOON + 60_000, NOON)).toBe("today");
  });

  test("rows are grouped by day in their order, without empty days", () => {
    const rows = [row({ id: "a", updated_at: at(0) }), row({ id: "b", updated_at: at(0, 1) }), row({ id: "c", updated_at: at(20) })];
    expect(byDay(rows, NOON).map((g) => [g.day, ids(g.rows)])).toEqual([["today", "ab"], ["older", "c"]]);
  });

  test("running is all that works or waits for a person; archived is apart", () => {
    const rows = [
      row({ id: "a" }), row({ id: "b", status: "running" }), row({ id: "c", status: "waiting_approval" }),
      row({ id: "d", status: "waiting_answer" }), row({ id: "e", status: "error" }), row({ id: "f", archived: true, status: "running" }),
    ];
    expect(ids(filtered(rows, "all", ""))).toBe("abcde");
    expect(ids(filtered(rows, "running", ""))).toBe("bcd");
    expect(ids(filtered(rows, "archived", ""))).toBe("f");
  });

  test("every word must be in the title, the project's name or the agent", () => {
    const rows = [row({ id: "a", title: "Fix LOGIN retry" }), row({ id: "b", title: "检查性能问题", project: "p2" })];
    const name = (id: string): string => (id === "p2" ? "My Mod" : "webapp");
    expect(ids(filtered(rows, "all", "login web", name))).toBe("a");
    expect(ids(filtered(rows, "all", "性能 mod", name))).toBe("b");
    expect(ids(filtered(rows, "all", "login mod", name))).toBe("");
  });

  test("a session at rest has no badge, the others a word and an icon", () => {
    expect(badge(row())).toBeNull();
    expect(badge(row({ status: "waiting_approval" }))).toEqual({ name: "approval", icon: "warning" });
    expect(badge(row({ status: "interrupted" }))?.name).toBe("interrupted");
  });

  test("the title counts what waits", () => {
    expect(pageTitle(0, "Fix login")).toBe("Fix login · shipmate");
    expect(pageTitle(2, "")).toBe("(2) shipmate");
  });
});

describe("loading of sessions", () => {
  const list = "GET /api/agent/sessions?archived=all&";

  test("a short list is read at once", async () => {
    const fetched = answering({ [`${list}limit=40`]: { sessions: [row()], cursor: "" } });
    await sessions.load();
    expect(ids(sessions.rows)).toBe("a");
    expect(sessions.more).toBe(false);
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  test("of a long one, those that wait are read too, and the next page on demand", async () => {
    answering({
      [`${list}limit=40`]: { sessions: [row({ id: "a", updated_at: 9 })], cursor: "9-a" },
      [`${list}status=running`]: { sessions: [] },
      [`${list}status=waiting_approval`]: { sessions: [row({ id: "c", updated_at: 1, status: "waiting_approval" })] },
      [`${list}status=waiting_answer`]: { sessions: [] },
      [`${list}pinned=true`]: { sessions: [row({ id: "p", updated_at: 2, pinned: true })] },
      [`${list}limit=40&cursor=9-a`]: { sessions: [row({ id: "b", updated_at: 5 }), row({ id: "c", updated_at: 1 })], cursor: "" },
    });
    await sessions.load();
    expect([ids(sessions.rows), sessions.more]).toEqual(["apc", true]);
    await sessions.older();
    expect([ids(sessions.rows), sessions.more]).toEqual(["abpc", false]);
    expect(sessions.get("c")?.status).toBe("waiting_approval");
  });

  test("the older of two states of a session never wins", () => {
    sessions.put(row({ id: "y", updated_at: 5, status: "running" }));
    sessions.put(row({ id: "y", updated_at: 4 }));
    expect(sessions.get("y")?.status).toBe("running");
  });

  test("a list that cannot be read says why and keeps what it had", async () => {
    sessions.put(row({ id: "z" }));
    answering({ [`${list}limit=40`]: new Response('{"code":"x","detail":"The disk is full."}', { status: 500 }) });
    await sessions.load();
    expect(sessions.error).toBe("The disk is full.");
    expect(sessions.get("z")).toBeDefined();
  });
});

describe("set-up of models", () => {
  const model = (id: string, fields: Partial<ModelInfo> = {}): ModelInfo => ({
    id, name: id, available: true, reason: "", context_length: 0, context_source: "table",
    vision: false, thinking: false, price: {}, download_size: 0, ...fields,
  });
  const one = (id: string, name: string, available = true, reason = ""): ProviderInfo => ({
    id, name: id, available, models: [model(name, { available, reason })],
  });
  const told = (...providers: ProviderInfo[]): Info => ({
    version: "1", agents: [], projects: [], mcp_servers: [], default_model: "", providers,
  });
  const info = (offline: boolean, openai = false): Info =>
    told(
      ...(openai ? [one("openai", "gpt")] : []),
      one("offline", "qwen", offline),
      one("scripted", "demo"),
    );

  test("is shown until a model can be used or the demo was chosen", () => {
    expect(needsSetup(info(false), "")).toBe(true);
    expect(needsSetup(info(false), "openai/gone")).toBe(true);
    expect(needsSetup(info(false), "scripted/demo")).toBe(false);
    expect(needsSetup(info(true), "")).toBe(false);
    expect(needsSetup(info(false, true), "")).toBe(false);
  });

  test("usable are those whose provider and model are", () => {
    expect(usable(info(false, true))).toEqual(["openai/gpt", "scripted/demo"]);
  });

  test("a provider that fails is told with its reason; the offline model and the demo never are", () => {
    const all = told(one("ollama", "q", false, "No answer."), ...info(false, true).providers);
    expect(failing(all)).toEqual([{ id: "ollama", name: "ollama", why: "No answer." }]);
  });

  test.each([[0, "0 B"], [999, "999 B"], [12_345, "12 kB"], [639_700_000, "640 MB"], [999_900_000, "1 GB"], [1_092_845_809, "1.1 GB"]])(
    "%d bytes read as %s", (count, words) => expect(bytes(count)).toBe(words),
  );

  test("100 % is said only of what is whole", () => {
    expect([percent(0, 0), percent(999, 1000), percent(1000, 1000)]).toEqual([0, 99, 100]);
  });

  test("a second provider of a type gets an id of its own", () => {
    expect(freeId("openai", [])).toBe("openai");
    expect(freeId("openai", ["openai", "openai-2"])).toBe("openai-3");
  });

  test("the name of a model is told without its size", () => {
    expect(plainName(model("q", { name: "Qwen Q4 (1092 MB to download)" }))).toBe("Qwen Q4");
  });

  test("of a server that lists nothing, nothing is usable", () => {
    expect(usable(told())).toEqual([]);
  });
});

describe("a download", () => {
  const step = (fields: object): string =>
    `event: fetch\ndata: ${JSON.stringify({ type: "fetch", name: "qwen", state: "running", done: 0, total: 100, error: "", ...fields })}\n\n`;
  const path = "POST /api/models/fetch";
  beforeEach(() => localStorage.clear());

  test("follows the steps to the end", async () => {
    answering({ [path]: new Response(step({ done: 40 }) + step({ name: "other", done: 99 }) + step({ state: "ready", done: 100 })) });
    const one = new Download("qwen");
    await one.start();
    expect([one.state, one.done, one.total, one.busy]).toEqual(["ready", 100, 100, false]);
  });

  test("is followed again when the page was loaded anew meanwhile, and only then", async () => {
    const fetched = answering({ [path]: new Response(step({ state: "cancelled", done: 7 })) });
    expect(new Download("qwen").state).toBe("idle");
    localStorage.setItem("shipmate.fetching.qwen", "1");
    const one = new Download("qwen");
    await vi.waitFor(() => expect(one.state).toBe("cancelled"));
    await vi.waitFor(() => expect(localStorage.length).toBe(0));
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  test("that fails says why", async () => {
    answering({ [path]: new Response(step({ state: "failed", done: 7, error: "No space left." })) });
    const one = new Download("qwen");
    await one.start();
    expect([one.state, one.error]).toEqual(["failed", "No space left."]);
  });

  test("whose stream is cut is not taken for whole", async () => {
    answering({ [path]: new Response(step({ done: 40 })) });
    const one = new Download("qwen");
    await one.start();
    expect([one.state, one.done]).toEqual(["failed", 40]);
    expect(localStorage.getItem("shipmate.fetching.qwen")).toBe("1"); // the server goes on with it
  });
});

describe("line to the server", () => {
  test("is mentioned after 2 s, gets a bar after 8 s; without network at once", () => {
    expect(spoken("open", 9000, false)).toBe("");
    expect(spoken("connecting", 9000, true)).toBe("");
    expect([0, 1999, 2000, 7999, 8000].map((ms) => spoken("lost", ms, true))).toEqual(["", "", "dot", "dot", "bar"]);
    expect(spoken("lost", 0, false)).toBe("offline");
  });

  test("a server of another version makes the page stale, and it stays so", async () => {
    for (const [version, stale] of [["1", false], ["1", false], ["2", true], ["2", true]] as const) {
      answering({ "GET /api/agent/info": { version } });
      await server.load();
      expect(server.stale).toBe(stale);
    }
  });
});

describe("settings", () => {
  beforeEach(() => localStorage.clear());

  test("the theme stays in this browser", async () => {
    const fetched = answering({});
    await settings.change({ theme: "dark" });
    expect(document.documentElement.dataset["theme"]).toBe("dark");
    expect(fetched).not.toHaveBeenCalled();
  });

  test("what the server refuses is taken back", async () => {
    answering({ "PATCH /api/settings": new Response('{"detail":"no"}', { status: 422 }) });
    await expect(settings.change({ language: "zh-CN" })).rejects.toThrow("no");
    expect(settings.interface.language).toBe("auto");
  });
});
