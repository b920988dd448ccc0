/** What a person does in a session. The facts come back on the event stream, not from here. */
import { call, get, post, sessionPath } from "./api";
import { fill, isBlock, type AnyBlock, type SessionRow } from "./protocol";
import { frames } from "./sse";
import type { Snapshot } from "./transcript";

export interface Given {
  kind: "text" | "file";
  name: string;
  text: string;
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
): Promise<SessionRow> {
  const words = "session" in target ? { message: text } : { task: text };
  const body = { ...target, ...words, attachments, client_id };
  const answer = await call("POST", "/api/agent/chat/stream", body);
  if (answer.body) {
    for await (const batch of frames(answer.body)) {
      for (const { event } of batch) if (event.type === "session") return event.row;
    }
  }
  throw new Error("The server ended the stream before it named the session.");
}

export const approve = (session: string, id: string, approved: boolean, feedback = ""): Promise<unknown> =>
  post("/api/agent/approval", { session, id, approved, ...(feedback ? { feedback } : {}) });
export const answerTo = (session: string, id: string, answer: string): Promise<unknown> =>
  post("/api/agent/answer", { session, id, answer });
export const stop = (session: string): Promise<unknown> => post("/api/agent/stop", { session });
export const resume = (session: string): Promise<unknown> => post("/api/agent/resume", { session });
export const dismiss = (session: string): Promise<unknown> =>
  post("/api/agent/dismiss", { session });
export const clearTodo = (session: string): Promise<unknown> =>
  post(`${sessionPath(session)}/todo/clear`);

/** Blocks of one window of the history. */
export const WINDOW = 200;

interface RawSnapshot {
  session: SessionRow;
  blocks: unknown[];
  pending: unknown[];
  epoch: string;
  last_seq: number;
  live: Snapshot["live"];
  more: boolean;
}

const filled = (raw: unknown[]): AnyBlock[] =>
  raw.map(fill).filter((event): event is AnyBlock => event !== null && isBlock(event));

/** The newest window of a session, or the one before place `before`. */
export async function snapshot(session: string, before = 0): Promise<Snapshot> {
  const query = before ? `?limit=${WINDOW}&before=${before}` : `?limit=${WINDOW}`;
  const raw = await get<RawSnapshot>(sessionPath(session) + query);
  return { ...raw, blocks: filled(raw.blocks), pending: filled(raw.pending) };
}
