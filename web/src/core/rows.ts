/** What the thread shows: the blocks of a session as rows, in one pass and without side effects. */
import type {
  AnyBlock,
  ApprovalRequest,
  AskUser,
  Attachment,
  Message,
  SessionRow,
  Summary,
  System,
  Todo,
  ToolCall,
  ToolResult,
  UnknownBlock,
  User,
} from "./protocol";
import type { Live } from "./transcript";

export interface Called {
  call: ToolCall;
  result: ToolResult | undefined;
}
/** Who approved a call that nobody was asked about. */
export interface Unasked {
  by: "bypass" | "rule";
  rule: string;
}
interface Used {
  tokens: number;
  /** Of them, those the provider had kept from an earlier request. */
  cached: number;
  cacheWrite: number;
  estimate: boolean;
  seconds: number;
  text: string;
}
export type Row =
  | { key: string; kind: "user"; user: User | undefined; attachments: Attachment[] }
  | { key: string; kind: "head"; agent: string; model: string; at: number }
  | { key: string; kind: "message"; message: Message | undefined; live: Live | undefined }
  | ({ key: string; kind: "tool"; denied: boolean; unasked: Unasked | null } & Called)
  | ({ key: string; kind: "agent"; blocks: AnyBlock[]; lives: Live[] } & Called)
  | { key: string; kind: "explored"; calls: Called[] }
  | { key: string; kind: "approval"; block: ApprovalRequest; name: string }
  | { key: string; kind: "ask"; block: AskUser }
  | { key: string; kind: "system"; block: System }
  | { key: string; kind: "summary"; block: Summary }
  | { key: string; kind: "unknown"; block: UnknownBlock }
  | ({ key: string; kind: "foot"; block: string } & Used)
  | { key: string; kind: "thinking"; since: number }
  | { key: string; kind: "todo"; block: Todo }
  | { key: string; kind: "end"; row: SessionRow };
export type RowOf<K extends Row["kind"]> = Extract<Row, { kind: K }>;

export interface Shown {
  blocks: readonly AnyBlock[];
  lives: readonly Live[];
  row: SessionRow | null;
}

/** Fewer reads in a row stay single. */
export const FOLD_FROM = 3;

/** Rows of the main thread, or of the sub-agent call `parent`. */
export function toRows(shown: Shown, parent = ""): Row[] {
  return new Rows(shown, parent).all();
}

class Rows {
  private out: Row[] = [];
  private results = new Map<string, ToolResult>();
  private approvals = new Map<string, ApprovalRequest>();
  private asked = new Set<string>();
  private calls = new Map<string, ToolCall>();
  private headed = false;
  private round: Message[] = [];
  private began = 0;
  private ended = 0;

  constructor(
    private readonly shown: Shown,
    private readonly parent: string,
  ) {
    for (const block of shown.blocks) this.index(block);
  }

  all(): Row[] {
    for (const block of this.shown.blocks) if (this.mine(block)) this.add(block);
    const running = this.shown.row?.status === "running";
    const lives = this.shown.lives.filter((live) => live.parent === this.parent);
    for (const live of lives) this.live(live);
    if (!this.parent) this.close(running, lives);
    return this.out;
  }

  private index(block: AnyBlock): void {
    if (block.type === "tool") this.calls.set(block.id, block);
    if (block.type === "tool_result") this.results.set(block.call, block);
    if (block.type === "ask_user") this.asked.add(block.call);
    if (block.type === "approval_request") this.approvals.set(block.call, block);
  }

  /** What waits for the user is shown in the main thread, whoever asks: never inside a fold. */
  private mine(block: AnyBlock): boolean {
    if (block.type === "approval_request" || block.type === "ask_user") return !this.parent;
    return block.parent === this.parent;
  }

  private add(block: AnyBlock): void {
    switch (block.type) {
      case "user":
        return this.user(block, undefined);
      case "attachment":
        return this.user(undefined, block);
      case "message":
        return this.message(block);
      case "tool":
        return this.tool(block);
      case "tool_result":
        return this.result(block);
      case "todo":
        return; // one widget below the messages, see `close`
      default:
        return this.single(block);
    }
  }

  private user(user: User | undefined, attachment: Attachment | undefined): void {
    const last = this.out.at(-1);
    const joins = last?.kind === "user" && !(user && last.user);
    if (joins) {
      if (user) last.user = user;
      if (attachment) last.attachments.push(attachment);
      return;
    }
    this.foot();
    const attachments = attachment ? [attachment] : [];
    this.out.push({ key: `user:${(user ?? attachment)!.id}`, kind: "user", user, attachments });
    this.headed = false;
    this.round = [];
    this.began = this.ended = (user ?? attachment)!.at;
  }

  private head(id: string, agent: string, model: string, at: number): void {
    this.ended = Math.max(this.ended, at);
    if (this.headed || this.parent) return;
    this.headed = true;
    this.out.push({ key: `head:${id}`, kind: "head", agent, model, at });
  }

  private message(block: Message): void {
    const row = this.shown.row;
    const agent = block.agent || row?.agent || "";
    this.head(block.id, agent, block.model || row?.provider || "", block.at);
    this.round.push(block);
    if (!block.text && !block.reasoning && !block.partial) return;
    this.out.push({ key: `message:${block.id}`, kind: "message", message: block, live: undefined });
  }

  private live(live: Live): void {
    const row = this.shown.row;
    this.head(live.id, live.agent || row?.agent || "", live.model || row?.provider || "", live.began);
    if (!live.text.length && !live.reasoning.length && !live.retry) return;
    this.out.push({ key: `message:${live.id}`, kind: "message", message: undefined, live });
  }

  private tool(call: ToolCall): void {
    this.ended = Math.max(this.ended, call.at);
    if (this.asked.has(call.id)) return;
    const result = this.results.get(call.id);
    if (call.name === "call_agent") {
      const { blocks, lives } = this.below(call.id);
      this.out.push({ key: `tool:${call.id}`, kind: "agent", call, result, blocks, lives });
      return;
    }
    const approval = this.approvals.get(call.id);
    if (approval?.result === undefined && approval) return; // its approval shows it whole
    if (approval && !this.parent && !unasked(approval)) return; // it stands below its approval
    this.card(call, approval);
    this.fold();
  }

  /** What belongs to a sub-agent and to those that it called itself. */
  private below(call: string): { blocks: AnyBlock[]; lives: Live[] } {
    const calls = new Set([call]);
    const blocks = this.shown.blocks.filter((block) => {
      const inside = calls.has(block.parent ?? "");
      if (inside && block.type === "tool") calls.add(block.id);
      return inside;
    });
    return { blocks, lives: this.shown.lives.filter((live) => calls.has(live.parent)) };
  }

  private card(call: ToolCall, approval: ApprovalRequest | undefined): void {
    const denied = approval?.result === false;
    const result = this.results.get(call.id);
    const by = approval ? unasked(approval) : null;
    this.out.push({ key: `tool:${call.id}`, kind: "tool", call, result, denied, unasked: by });
  }

  private approval(block: ApprovalRequest): void {
    if (unasked(block)) return;
    const call = this.calls.get(block.call);
    const key = `approval:${block.id}`;
    this.out.push({ key, kind: "approval", block, name: call?.title || (call?.name ?? "") });
    const mine = call?.parent === this.parent && call.name !== "call_agent";
    if (mine && block.result !== undefined) this.card(call, block);
  }

  /** Three or more successful reads at the end become one row; more join it. */
  private fold(): void {
    const calls: Called[] = [];
    let from = this.out.length;
    for (; from > 0; from--) {
      const row = this.out[from - 1]!;
      if (row.kind === "explored") calls.unshift(...row.calls);
      else if (row.kind === "tool" && quietRead(row)) calls.unshift(row);
      else break;
    }
    if (calls.length < FOLD_FROM) return;
    const key = `explored:${calls[0]!.call.id}`;
    this.out.splice(from, Infinity, { key, kind: "explored", calls });
  }

  private result(block: ToolResult): void {
    this.ended = Math.max(this.ended, block.at);
  }

  private single(block: ApprovalRequest | AskUser | System | Summary | UnknownBlock): void {
    const key = `${block.type}:${block.id}`;
    switch (block.type) {
      case "approval_request":
        return this.approval(block);
      case "ask_user":
        this.out.push({ key, kind: "ask", block });
        return;
      case "system":
        this.out.push({ key, kind: "system", block });
        return;
      case "summary":
        this.out.push({ key, kind: "summary", block });
        return;
      case "unknown":
        this.out.push({ key, kind: "unknown", block });
    }
  }

  /** The end of a round that is over: what it used, and its text to copy. */
  private foot(): void {
    const last = this.round.at(-1);
    if (!last) return;
    this.out.push({
      key: `foot:${last.id}`,
      kind: "foot",
      block: last.id,
      tokens: this.round.reduce((sum, m) => sum + m.tokens, 0),
      cached: this.round.reduce((sum, m) => sum + (m.usage?.cached ?? 0), 0),
      cacheWrite: this.round.reduce((sum, m) => sum + (m.usage?.cache_write ?? 0), 0),
      estimate: this.round.some((m) => m.tokens_source === "estimate"),
      seconds: this.began && this.ended > this.began ? (this.ended - this.began) / 1000 : 0,
      text: this.round.map((m) => m.text).filter(Boolean).join("\n\n"),
    });
    this.round = [];
  }

  private close(running: boolean, lives: readonly Live[]): void {
    const row = this.shown.row;
    const last = this.out.at(-1);
    const told = row?.status === "error" && last?.kind === "system" && last.block.text === row.error;
    if (told) this.out.pop(); // the card at the end says it
    if (running) this.think(lives);
    else if (row?.status !== "waiting_approval" && row?.status !== "waiting_answer") this.foot();
    const todo = this.shown.blocks.filter((b) => b.type === "todo").find((b) => this.mine(b));
    if (todo?.items.length) this.out.push({ key: "todo", kind: "todo", block: todo });
    if (row && (row.status === "error" || row.status === "interrupted")) {
      this.out.push({ key: "end", kind: "end", row });
    }
  }

  /** Dots while nothing else in the thread shows that it works. */
  private think(lives: readonly Live[]): void {
    const busy = this.out.some((r) => (r.kind === "tool" || r.kind === "agent") && !r.result);
    if (busy || lives.some((live) => live.text.length || live.reasoning.length || live.retry)) return;
    const since = lives.at(-1)?.began || this.ended || this.began;
    this.out.push({ key: "thinking", kind: "thinking", since });
  }
}

function unasked(block: ApprovalRequest): Unasked | null {
  const by = block.decided_by;
  if (!block.result || (by !== "bypass" && by !== "rule")) return null;
  return { by, rule: by === "rule" ? block.rule : "" };
}

const READS = new Set(["read_only"]);

function quietRead(row: RowOf<"tool">): boolean {
  const { call, result } = row;
  return READS.has(call.provider) && !!result && !result.is_error && result.details?.kind !== "image";
}
