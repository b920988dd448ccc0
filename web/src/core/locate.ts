/** Where a block is shown: its row, and what has to be opened to see it. */
import type { AnyBlock } from "./protocol";
import type { Row } from "./rows";

export interface Place {
  index: number;
  /** Ids of folds, the outer one first. */
  folds: string[];
}

/** The place of block `id`; null where no row shows it. */
export function locate(
  rows: readonly Row[],
  get: (id: string) => AnyBlock | undefined,
  id: string,
): Place | null {
  const block = get(id);
  if (!block) return null;
  const shown = (wanted: string): number => rows.findIndex((row) => shows(row, wanted));
  if (block.parent && shown(id) < 0) {
    const outer = locate(rows, get, block.parent);
    return outer && { index: outer.index, folds: [...outer.folds, ...inner(block)] };
  }
  const calls = [id, ..."call" in block && block.call ? [block.call] : []];
  const index = calls.map(shown).find((at) => at >= 0) ?? -1;
  return index < 0 ? null : { index, folds: [...outer(rows[index]!), ...inner(block)] };
}

/** An explored row or a sub-agent has its calls within. */
const outer = (row: Row): string[] => (row.kind === "explored" || row.kind === "agent" ? [row.key] : []);

function inner(block: AnyBlock): string[] {
  if (block.type === "tool") return [`tool:${block.id}`];
  if (block.type === "tool_result") return [`tool:${block.call}`];
  if (block.type === "attachment") return [`attachment:${block.id}`];
  return [];
}

function shows(row: Row, id: string): boolean {
  switch (row.kind) {
    case "user":
      return row.user?.id === id || row.attachments.some((one) => one.id === id);
    case "message":
      return row.message?.id === id;
    case "tool":
    case "agent":
      return row.call.id === id;
    case "explored":
      return row.calls.some(({ call }) => call.id === id);
    case "approval":
    case "ask":
    case "system":
    case "summary":
    case "todo":
    case "unknown":
      return row.block.id === id;
    default:
      return false;
  }
}
