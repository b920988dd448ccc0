/** What a person does in a session. The facts come back on the event stream, not from here. */
import { api, call, got } from "./api";
import { fill, isBlock, type AnyBlock, type SessionRow } from "./protocol";
import { frames } from "./sse";
import type { Snapshot } from "./transcript";

export interface Given {
  kind: "text" | "file";
  name: string;
  text: string;
}
/** An issue or a pull request of the project. */
export interface Along {
  number: number;
  kind: "issue" | "pull_request";
}
export type Target =
  | { session: string }
  | { agent: string; provider: string; project: string; bypass_approval: boolean };

/** Sends a message; the row of its session once the server has accepted it. */
export async function say(
  target: Target,
  text: string,
  attachments: Given[],
  client_id: string,
  issues: Along[] = [],
): Promise<SessionRow> {
  const words = "session" in target ? { message: text } : { task: text };
  const body = { ...target, ...words, attachments, issues, client_id };
  const answer = await call("POST", "/api/agent/chat/stream", body);
  if (answer.body) {
    for await (const batch of frames(answer.body)) {
      for (const { event } of batch) if (event.type === "session") return event.row;
    }
  }
  throw new Error("The server ended the stream before it named the session.");
}

export const answerTo = (session: string, id: string, answer: string) =>
  got(api.POST("/api/agent/answer", { body: { session, id, answer } }));
export const stop = (session: string) => got(api.POST("/api/agent/stop", { body: { session } }));
/** Ends the sub-agent of a call alone. */
export const stopAgent = (session: string, call: string) =>
  got(api.POST("/api/agent/stop", { body: { session, call } }));
export const resume = (session: string) =>
  got(api.POST("/api/agent/resume", { body: { session } }));
export const dismiss = (session: string) =>
  got(api.POST("/api/agent/dismiss", { body: { session } }));
export const clearTodo = (id: string) =>
  got(api.POST("/api/agent/sessions/{id}/todo/clear", { params: { path: { id } } }));

/** Sums up the older messages now. */
export const compactNow = (session: string) =>
  got(api.POST("/api/agent/compact", { body: { session } }));
export const editSummary = (id: string, block: string, text: string) =>
  got(
    api.PATCH("/api/agent/sessions/{id}/summary", {
      params: { path: { id } },
      body: { block, text },
    }),
  );
export const undoSummary = (id: string, block: string) =>
  got(
    api.DELETE("/api/agent/sessions/{id}/summary/{block}", { params: { path: { id, block } } }),
  );

/** Blocks of one window of the history. */
export const WINDOW = 200;

const filled = (raw: unknown[]): AnyBlock[] =>
  raw.map(fill).filter((event): event is AnyBlock => event !== null && isBlock(event));

/** The newest window of a session, or the one before place `before`. */
export async function snapshot(id: string, before = 0, limit = WINDOW): Promise<Snapshot> {
  const params = { path: { id }, query: { before, limit } };
  const raw = await got(api.GET("/api/agent/sessions/{id}", { params }));
  const session = raw.session as Snapshot["session"];
  return { ...raw, session, blocks: filled(raw.blocks), pending: filled(raw.pending) };
}

/** Queues a message, said after the final answer of the round that runs. */
export const enqueue = (
  session: string,
  text: string,
  attachments: Given[],
  client_id: string,
  issues: Along[] = [],
) => got(api.POST("/api/queue", { body: { session, text, attachments, issues, client_id } }));
export const editQueued = (session: string, id: string, text: string) =>
  got(api.PATCH("/api/queue", { body: { session, id, text } }));
export const moveQueued = (session: string, id: string, place: number) =>
  got(api.PATCH("/api/queue", { body: { session, id, place } }));
export const dropQueued = (session: string, id: string) =>
  got(api.DELETE("/api/queue", { params: { query: { session, id } } }));
export const sendQueued = (session: string, id: string) =>
  got(api.POST("/api/queue/send", { body: { session, id } }));
