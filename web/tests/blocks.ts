/** Blocks for tests, as they come over the wire and with their defaults filled in. */
import { fill, type AnyBlock, type Block, type SessionRow } from "../src/core/protocol";

let place = 0;

export function block<T extends Block["type"]>(
  type: T,
  fields: Record<string, unknown> = {},
): Extract<Block, { type: T }> {
  place += 1;
  const base = { id: `b${place}`, pos: place, seq: place, at: 1_000 * place };
  return fill({ type, ...base, ...fields }) as Extract<Block, { type: T }>;
}

export function row(fields: Partial<SessionRow> = {}): SessionRow {
  return {
    id: "s1", agent: "assistant", provider: "openai/gpt-4o", project: "p", title: "",
    bypass_approval: false, archived: false, status: "idle", pending_approval: "",
    pending_question: "", created_at: 0, updated_at: 0, last_seq: 0, tokens: 0,
    context_usage: null, error: "", untrusted: false, owner: "", readers: [], pinned: false, ...fields,
  };
}

export const read = (fields: Record<string, unknown> = {}): AnyBlock[] => {
  const call = block("tool", {
    name: "read_file", provider: "read_only", message: "m", arguments: { path: "a.py" }, ...fields,
  });
  return [call, block("tool_result", { call: call.id, text: "x", seconds: 0.1 })];
};
