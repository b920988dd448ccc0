/**
 * The block protocol as the browser reads it (`docs/protocol.md`). The types come from the
 * server's OpenAPI document. A field that holds its default is left out of the JSON; `fill` puts
 * the defaults of blocks back, so that nothing behind it has to ask whether a field is there.
 */
import type { components } from "./api.gen";

type Wire = components["schemas"];
/** A struct with its defaults, except the fields whose absence means something. */
type Filled<T, Absent extends keyof T = never> = Required<Omit<T, Absent>> & Pick<T, Absent>;

export type FileChange = Wire["FileChange"];
export type Hunk = Wire["Hunk"];
export type RequestDetail = Wire["RequestDetail"];
export type PostDetail = Omit<Wire["PostDetail"], "files"> & { files?: FileChange[] };
export type ExitDetail = Wire["ExitDetail"];
export type TodoItem = Wire["TodoItem"];
export type Detail = NonNullable<Wire["ToolResult"]["details"]>;

export type User = Filled<Wire["User"]>;
export type Attachment = Filled<Wire["Attachment"]>;
export type System = Filled<Wire["System"]>;
export type Message = Filled<Wire["Message"], "usage">;
export type ToolCall = Filled<Omit<Wire["ToolCall"], "arguments">> & {
  arguments: Record<string, unknown>;
};
export type ToolResult = Filled<Wire["ToolResult"], "details">;
/** `result` absent: pending. `arguments`: what the user made of the call's. */
export type ApprovalRequest = Filled<
  Omit<Wire["ApprovalRequest"], "arguments">,
  "result" | "hunks"
> & { arguments?: Record<string, unknown> };
export type RuleScope = ApprovalRequest["scope"];
/** `result` absent: pending. */
export type AskUser = Filled<Wire["AskUser"], "result">;
export type Todo = Filled<Wire["Todo"]>;
export type Summary = Filled<Wire["Summary"]>;
/** What waits for the user. */
export type Pending = ApprovalRequest | AskUser;
export type Block =
  | User
  | Attachment
  | System
  | Message
  | ToolCall
  | ToolResult
  | ApprovalRequest
  | AskUser
  | Todo
  | Summary;
/** A block of a newer server; shown raw, never dropped. */
export interface UnknownBlock extends Omit<Todo, "type" | "items"> {
  type: "unknown";
  raw: Record<string, unknown>;
}
export type AnyBlock = Block | UnknownBlock;

export type SessionRow = Required<Wire["SessionRow"]>;
export type Status = SessionRow["status"];
export type StreamStart = Wire["StreamStart"];
export type Delta = Wire["Delta"];
export type Retry = Wire["Retry"];
export type Done = Wire["Done"];
/** A message that waits for the final answer. */
export type Progress = Wire["Progress"];
export type Queued = Wire["Queued"];
/** What is not kept: pieces of a stream and facts about the session. */
export type Transient =
  | StreamStart
  | Delta
  | Wire["StreamEnd"]
  | Retry
  | Progress
  | (Omit<Wire["SessionChanged"], "row"> & { row: SessionRow })
  | Wire["SessionDeleted"]
  | Wire["QueueChanged"]
  | (Omit<Wire["PendingChanged"], "items" | "session"> & { session: string; items: Pending[] })
  | Done
  | Wire["KeepAlive"];
export type Event = AnyBlock | Transient;

const BASE = { session: "", pos: 0, seq: 0, at: 0, parent: "" };
/** The defaults of `protocol.py`; a test holds them against the OpenAPI document's. */
export const DEFAULTS: { [T in Block["type"]]: Record<string, unknown> } = {
  user: { client_id: "", steers: false },
  attachment: { title: "", text: "", file: "", media_type: "" },
  system: { level: "info", code: "" },
  message: {
    text: "",
    reasoning: "",
    model: "",
    agent: "",
    tokens: 0,
    tokens_source: "api",
    partial: false,
    finish: "",
    cost: 0,
    thought: 0,
    heard: 0,
    signed: [],
  },
  tool: { provider: "", title: "", arguments: {}, raw: "", agent: "", started: false, rescued: false },
  tool_result: { is_error: false, truncated: false, untrusted: false, seconds: 0, files: [], written: [] },
  approval_request: {
    level: "normal",
    reason: "",
    agent: "",
    choices: ["approve", "deny"],
    feedback: "",
    decided_by: "",
    suggested: [],
    scopes: ["once"],
    scope: "once",
    rule: "",
  },
  ask_user: { options: [], multiple: false, allow_freeform: true, agent: "", cancelled: "" },
  todo: { items: [] },
  summary: { facts: "", tokens_before: 0, tokens_after: 0, edited: false, undone: false },
};
const TRANSIENT = new Set([
  "stream_start",
  "delta",
  "stream_end",
  "retry",
  "progress",
  "session",
  "session_deleted",
  "queue",
  "pending",
  "done",
  "keep_alive",
]);

/** A raw event or block of the wire with its defaults; null when it is neither. */
export function fill(raw: unknown): Event | null {
  if (typeof raw !== "object" || raw === null) return null;
  const event = raw as Record<string, unknown>;
  const type = event["type"];
  if (typeof type !== "string") return null;
  if (type === "pending") return { ...event, items: pending(event["items"]) } as Transient;
  if (TRANSIENT.has(type)) return event as unknown as Transient;
  if (typeof event["id"] !== "string") return null;
  if (!Object.hasOwn(DEFAULTS, type)) {
    return { ...BASE, ...event, type: "unknown", raw: event } as unknown as UnknownBlock;
  }
  return { ...BASE, ...DEFAULTS[type as Block["type"]], ...event } as unknown as Block;
}

/** What waits, of the wire; what this page does not know is left to the conversation to show. */
export const pending = (items: unknown): Pending[] =>
  (Array.isArray(items) ? items.map(fill) : []).filter((item) => item !== null).filter(waits);

export const waits = (event: Event): event is Pending =>
  (event.type === "approval_request" || event.type === "ask_user") && event.result === undefined;

/** Whether an event is kept, i.e. a block. */
export function isBlock(event: Event): event is AnyBlock {
  return !TRANSIENT.has(event.type);
}
