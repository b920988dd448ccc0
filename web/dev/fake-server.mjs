/**
 * A stand-in for the server, to build and measure the page: `node dev/fake-server.mjs [port]`.
 * It serves the built files with the real Content-Security-Policy and plays a script.
 * `#/s/demo` shows every kind of block, `#/s/long` 10,000 of them; any message starts a stream
 * ("tokens 20000 rate 1000" says how much and how fast).
 */
import { createReadStream, existsSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { demo, long, tokens } from "./fake-data.mjs";

const STATIC = path.resolve(import.meta.dirname, "../../src/shipmate/static");
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
  "connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; " +
  "frame-ancestors 'none'; object-src 'none'; manifest-src 'self'; media-src 'self' blob:; " +
  "frame-src 'self'; worker-src 'self'; require-trusted-types-for 'script'; trusted-types shipmate shipmate-workers";
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const row = (id, title, more = {}) => ({
  id, agent: "assistant", provider: "deepseek/deepseek-chat", project: "webapp", title,
  bypass_approval: false, archived: false, status: "idle", pending_approval: "",
  pending_question: "", created_at: Date.now(), updated_at: Date.now(), last_seq: 0, tokens: 0,
  context_usage: { tokens: 79360, max: 128000, percent: 62, source: "api" }, error: "", ...more,
});
const sessions = new Map();
const add = (id, title, blocks, more) =>
  sessions.set(id, { row: row(id, title, { last_seq: blocks.length, ...more }), blocks, listeners: new Set(), live: null, timer: null });
add("demo", "Fix login retry", demo(), { status: "waiting_approval" });
add("long", "A very long session", long(10_000), { updated_at: Date.now() - 9e7 });
add("zh", "中文会话：检查性能问题", [], {
  context_usage: { tokens: 103680, max: 128000, percent: 81, source: "estimate" },
  updated_at: Date.now() - 2e8,
});

const publish = (s, event) => {
  const id = event.pos ? `id: e-${event.seq}\n` : "";
  const frame = `${id}event: ${event.type}\ndata: ${JSON.stringify({ session: s.row.id, ...event })}\n\n`;
  for (const listener of s.listeners) listener.write(frame);
  if (event.type === "session") for (const other of rowListeners) if (!s.listeners.has(other)) other.write(frame);
};
const rowListeners = new Set();
const record = (s, block) => {
  const pos = block.pos ?? s.blocks.length + 1;
  s.row.last_seq += 1;
  const kept = { at: Date.now(), ...block, pos, seq: s.row.last_seq };
  const at = s.blocks.findIndex((b) => b.id === kept.id);
  if (at >= 0) s.blocks[at] = kept;
  else s.blocks.push(kept);
  publish(s, kept);
};
const change = (s, fields) => {
  Object.assign(s.row, fields, { updated_at: Date.now() });
  publish(s, { type: "session", row: s.row });
};

function play(s, text) {
  const [, count = 300] = /tokens (\d+)/.exec(text) ?? [];
  const [, rate = 80] = /rate (\d+)/.exec(text) ?? [];
  const pieces = tokens(Number(count));
  const id = `m${s.blocks.length}`;
  change(s, { status: "running" });
  publish(s, { type: "stream_start", id, agent: "assistant", model: s.row.provider });
  s.live = { id, text: "", reasoning: "" };
  const began = performance.now();
  let sent = 0;
  s.timer = setInterval(() => {
    const due = Math.min(pieces.length, Math.floor(((performance.now() - began) * Number(rate)) / 1000));
    for (; sent < due; sent++) {
      publish(s, { type: "delta", id, offset: s.live.text.length, text: pieces[sent] });
      s.live.text += pieces[sent];
    }
    if (sent >= pieces.length) end(s, false);
  }, 5);
}

function end(s, partial) {
  clearInterval(s.timer);
  if (s.live) {
    publish(s, { type: "stream_end", id: s.live.id });
    record(s, { type: "message", ...s.live, agent: "assistant", model: s.row.provider, tokens: 1234, partial });
  }
  s.live = null;
  change(s, { status: "idle" });
  publish(s, { type: "done", finished: !partial, reason: partial ? "stopped" : "" });
}

const stream = (res) => res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
const json = (res, body, status = 200) => {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify(body));
};
const INFO = {
  version: "0", agents: [{ id: "assistant" }],
  projects: [{ id: "webapp", name: "webapp", path: "/home/me/webapp" }],
  default_model: "deepseek/deepseek-chat",
  providers: [
    { id: "deepseek", name: "DeepSeek", available: true, models: [
      { id: "deepseek-chat", name: "deepseek-chat", available: true, context_length: 128000 },
      { id: "deepseek-reasoner", name: "deepseek-reasoner", available: true, context_length: 128000, thinking: true } ] },
    { id: "ollama", name: "Ollama", available: false, models: [
      { id: "qwen3:8b", name: "qwen3:8b", available: false, reason: "Ollama does not answer on port 11434." } ] },
  ],
};

function window_(s, url) {
  const before = Number(url.searchParams.get("before")) || Infinity;
  const all = s.blocks.filter((b) => b.pos < before);
  const blocks = all.slice(-Number(url.searchParams.get("limit") ?? 200));
  const pending = s.blocks.filter((b) => /approval_request|ask_user/.test(b.type) && b.result === undefined);
  return { session: s.row, blocks, pending, epoch: "e", last_seq: s.row.last_seq, live: s.live ? [{ agent: "assistant", model: s.row.provider, ...s.live }] : [], more: all.length > blocks.length };
}

function api(req, res, url, body) {
  const [, , , what, id, sub] = url.pathname.split("/");
  const [of, after] = (url.searchParams.get("sessions") ?? "").split(":");
  const s = sessions.get(body.session ?? id ?? of);
  if (url.pathname === "/api/settings") return json(res, { interface: {} });
  if (url.pathname === "/api/auth/exchange") return json(res, { token: "t" });
  if (what === "info") return json(res, INFO);
  if (what === "sessions" && !id) return json(res, { sessions: [...sessions.values()].map((x) => x.row) });
  if (what === "chat") return chat(res, body, s);
  if (what === "events") return events(res, s, Number(after));
  if (!s) return json(res, { code: "not_found", detail: "There is no such session." }, 404);
  if (what === "sessions" && req.method === "PATCH") return change(s, body), json(res, s.row);
  if (what === "sessions" && sub === "todo") return record(s, { ...s.blocks.find((b) => b.type === "todo"), items: [] }), json(res, {});
  if (what === "sessions") return json(res, window_(s, url));
  if (what === "stop") return setTimeout(() => end(s, true), 400), json(res, {});
  const block = s.blocks.find((b) => b.id === body.id);
  if (what === "approval") record(s, { ...block, result: body.approved, feedback: body.feedback ?? "", decided_by: "user" });
  if (what === "answer") record(s, { ...block, result: body.answer });
  return json(res, {});
}

function events(res, s, after) {
  stream(res);
  s?.listeners.add(res);
  rowListeners.add(res);
  for (const b of s?.blocks ?? []) if (b.seq > after) res.write(`id: e-${b.seq}\ndata: ${JSON.stringify(b)}\n\n`);
  const alive = setInterval(() => res.write('data: {"type":"keep_alive"}\n\n'), 15_000);
  res.on("close", () => (clearInterval(alive), s?.listeners.delete(res), rowListeners.delete(res)));
}

function chat(res, body, known) {
  if (!known) add(`s${sessions.size}`, (body.task ?? "").slice(0, 40), []);
  const s = known ?? [...sessions.values()].at(-1);
  stream(res);
  res.write(`event: session\ndata: ${JSON.stringify({ type: "session", row: s.row })}\n\n`);
  const text = body.message ?? body.task ?? "";
  for (const a of body.attachments ?? []) record(s, { type: "attachment", id: `a${s.blocks.length}`, ...a });
  record(s, { type: "user", id: `u${s.blocks.length}`, text, client_id: body.client_id });
  play(s, text);
}

http
  .createServer((req, res) => {
    const url = new URL(req.url, "http://x");
    if (url.pathname.startsWith("/api/")) {
      let text = "";
      req.on("data", (d) => (text += d)).on("end", () => api(req, res, url, text ? JSON.parse(text) : {}));
      return;
    }
    const file = path.join(STATIC, url.pathname === "/" ? "index.html" : path.normalize(url.pathname));
    if (!existsSync(file)) return void res.writeHead(404).end();
    res.writeHead(200, { "content-type": TYPES[path.extname(file)], "content-security-policy": CSP });
    createReadStream(file).pipe(res);
  })
  .listen(Number(process.argv[2] ?? 8799), "127.0.0.1", function () {
    console.log(`http://127.0.0.1:${this.address().port}/#/s/demo`);
  });
