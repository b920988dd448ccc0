/**
 * The block protocol as the browser reads it (`docs/protocol.md`, `src/shipmate/protocol.py`).
 * A field that holds its default is left out of the JSON; `fill` puts the defaults back, so that
 * nothing behind it has to ask whether a field is there.
 */

export interface CommandDetail { kind: "command"; command: string; cwd: string; shell?: string }
export interface Hunk { old_start: number; new_start: number; lines: string[] }
export interface FileChange {
  path: string;
  change?: "create" | "modify" | "create_directory";
  added?: number;
  removed?: number;
  hunks?: Hunk[];
  note?: string;
}
export interface DiffDetail { kind: "diff"; files: FileChange[] }
export interface ArgumentsDetail { kind: "arguments"; arguments: Record<string, unknown> }
export interface ExitDetail {
  kind: "exit";
  /** Absent when the command did not end by itself. */
  status?: number | null;
  seconds?: number;
  background?: string;
  stopped?: "" | "time_limit" | "user";
}
export interface ImageDetail {
  kind: "image";
  media_type: string;
  file: string;
  width?: number;
  height?: number;
}
export interface MatchesDetail {
  kind: "matches";
  count: number;
  what?: "lines" | "files" | "entries" | "hits";
  more?: boolean;
}
export interface BlockedDetail { kind: "blocked"; reason: string; rule?: string }
export type Detail =
  | CommandDetail
  | DiffDetail
  | ArgumentsDetail
  | ExitDetail
  | ImageDetail
  | MatchesDetail
  | BlockedDetail;

interface BlockBase {
  session: string;
  id: string;
  /** Fixed place in the transcript. */
  pos: number;
  /** Number of the last change. */
  seq: number;
  /** When it was first recorded, ms since 1970 UTC. */
  at: number;
  /** The `call_agent` call it belongs to; empty in the main thread. */
  parent: string;
}
export interface User extends BlockBase { type: "user"; text: string; client_id: string }
export interface Attachment extends BlockBase {
  type: "attachment";
  kind: "file" | "image" | "text" | "issue" | "pull_request";
  name: string;
  text: string;
  file: string;
  media_type: string;
}
export interface System extends BlockBase {
  type: "system";
  text: string;
  level: "info" | "warning" | "error";
  code: string;
}
export interface Usage { prompt?: number; completion?: number; cached?: number; reasoning?: number }
export interface Message extends BlockBase {
  type: "message";
  text: string;
  reasoning: string;
  model: string;
  agent: string;
  tokens: number;
  tokens_source: "api" | "estimate";
  usage?: Usage;
  partial: boolean;
  finish: string;
}
export interface ToolCall extends BlockBase {
  type: "tool";
  message: string;
  name: string;
  provider: string;
  arguments: Record<string, unknown>;
  raw: string;
  agent: string;
  started: boolean;
  rescued: boolean;
}
export interface ToolResult extends BlockBase {
  type: "tool_result";
  call: string;
  text: string;
  is_error: boolean;
  truncated: boolean;
  details?: Detail;
  seconds: number;
}
export interface ApprovalRequest extends BlockBase {
  type: "approval_request";
  call: string;
  level: "normal" | "dangerous";
  title: string;
  reason: string;
  details: Detail;
  digest: string;
  agent: string;
  choices: string[];
  /** Absent while pending. */
  result?: boolean;
  feedback: string;
  decided_by: string;
}
export interface AskUser extends BlockBase {
  type: "ask_user";
  call: string;
  question: string;
  options: string[];
  multiple: boolean;
  allow_freeform: boolean;
  agent: string;
  /** Absent while pending. */
  result?: string;
  cancelled: "" | "stop" | "moved_on";
}
export interface TodoItem {
  id: number;
  title: string;
  status?: "not-started" | "in-progress" | "completed";
}
export interface Todo extends BlockBase { type: "todo"; items: TodoItem[] }
export interface Summary extends BlockBase {
  type: "summary";
  text: string;
  replaces: [number, number];
  tokens_before: number;
  tokens_after: number;
}
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
export interface UnknownBlock extends BlockBase { type: "unknown"; raw: Record<string, unknown> }
export type AnyBlock = Block | UnknownBlock;

export interface StreamStart { type: "stream_start"; id: string; agent?: string; model?: string; parent?: string }
export interface Delta { type: "delta"; id: string; offset: number; text?: string; reasoning?: string }
export interface StreamEnd { type: "stream_end"; id: string }
export interface Retry {
  type: "retry";
  id: string;
  attempt: number;
  of: number;
  wait: number;
  reason: string;
}
export type Status =
  | "idle"
  | "running"
  | "waiting_approval"
  | "waiting_answer"
  | "interrupted"
  | "error";
export interface ContextUsage {
  tokens: number;
  max: number;
  percent: number;
  source: "api" | "estimate";
}
export interface SessionRow {
  id: string;
  agent: string;
  /** Model provider and model: `openai/gpt-4o`. */
  provider: string;
  project: string;
  title: string;
  bypass_approval: boolean;
  archived: boolean;
  status: Status;
  pending_approval: string;
  pending_question: string;
  created_at: number;
  updated_at: number;
  last_seq: number;
  tokens: number;
  context_usage: ContextUsage | null;
  error: string;
}
export interface SessionChanged { type: "session"; row: SessionRow }
export interface SessionDeleted { type: "session_deleted" }
export type Reason =
  | ""
  | "waiting_approval"
  | "waiting_answer"
  | "stopped"
  | "limit"
  | "budget"
  | "error"
  | "interrupted";
export interface Done { type: "done"; finished: boolean; reason?: Reason; error?: string }
export interface KeepAlive { type: "keep_alive" }

/** What is not kept: pieces of a stream and facts about the session. */
export type Transient = (
  | StreamStart
  | Delta
  | StreamEnd
  | Retry
  | SessionChanged
  | SessionDeleted
  | Done
  | KeepAlive
) & { session?: string };
export type Event = AnyBlock | Transient;

const BASE = { session: "", pos: 0, seq: 0, at: 0, parent: "" };
const DEFAULTS: { [T in Block["type"]]: Record<string, unknown> } = {
  user: { client_id: "" },
  attachment: { text: "", file: "", media_type: "" },
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
  },
  tool: { provider: "", arguments: {}, raw: "", agent: "", started: false, rescued: false },
  tool_result: { is_error: false, truncated: false, seconds: 0 },
  approval_request: {
    level: "normal",
    reason: "",
    agent: "",
    choices: ["approve", "deny"],
    feedback: "",
    decided_by: "",
  },
  ask_user: { options: [], multiple: false, allow_freeform: true, agent: "", cancelled: "" },
  todo: { items: [] },
  summary: { tokens_before: 0, tokens_after: 0 },
};
const TRANSIENT = new Set([
  "stream_start",
  "delta",
  "stream_end",
  "retry",
  "session",
  "session_deleted",
  "done",
  "keep_alive",
]);

/** A raw event or block of the wire with its defaults; null when it is neither. */
export function fill(raw: unknown): Event | null {
  if (typeof raw !== "object" || raw === null) return null;
  const event = raw as Record<string, unknown>;
  const type = event["type"];
  if (typeof type !== "string") return null;
  if (TRANSIENT.has(type)) return event as unknown as Transient;
  if (typeof event["id"] !== "string") return null;
  if (!Object.hasOwn(DEFAULTS, type)) {
    return { ...BASE, ...event, type: "unknown", raw: event } as unknown as UnknownBlock;
  }
  return { ...BASE, ...DEFAULTS[type as Block["type"]], ...event } as unknown as Block;
}

/** Whether an event is kept, i.e. a block. */
export function isBlock(event: Event): event is AnyBlock {
  return !TRANSIENT.has(event.type);
}
