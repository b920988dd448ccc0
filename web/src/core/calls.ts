/** What a tool card says of a call: its main argument, its state, its figures. */
import type { ExitDetail, FileChange, ToolCall } from "./protocol";
import type { Called } from "./rows";

export type CallState = "running" | "cut" | "ok" | "failed" | "denied" | "blocked";

export function stateOf(called: Called & { denied?: boolean }, running: boolean): CallState {
  const { result } = called;
  if (!result) return running ? "running" : "cut";
  if (result.details?.kind === "blocked") return "blocked";
  if (called.denied) return "denied";
  return result.is_error ? "failed" : "ok";
}

const MAIN = ["command", "path", "filePath", "file_path", "query", "pattern", "url", "question", "task"];

/** The argument that tells one call from another, on one line. */
export function mainArgument(call: ToolCall): string {
  const given = call.arguments;
  if (call.raw) return oneLine(call.raw);
  const name = MAIN.find((key) => typeof given[key] === "string" && given[key] !== "");
  if (name) return oneLine(String(given[name])) + range(given);
  const many = given["files"] ?? given["replacements"] ?? given["urls"];
  return Array.isArray(many) ? oneLine(many.map(pathOf).filter(distinct).join(", ")) : "";
}

const pathOf = (item: unknown): string =>
  typeof item === "string" ? item : String((item as { path?: unknown } | null)?.path ?? "");

const distinct = (item: string, index: number, all: string[]): boolean =>
  item !== "" && all.indexOf(item) === index;

function range(given: Record<string, unknown>): string {
  const [from, to] = [given["startLine"], given["endLine"]];
  return typeof from === "number" || typeof to === "number" ? `:${from ?? 1}–${to ?? ""}` : "";
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim().slice(0, 200);

export function changed(files: readonly FileChange[]): { added: number; removed: number } {
  const sum = (key: "added" | "removed"): number => files.reduce((n, f) => n + (f[key] ?? 0), 0);
  return { added: sum("added"), removed: sum("removed") };
}

export const exited = (detail: ExitDetail): boolean => detail.status !== undefined && !detail.stopped;

/** Reads and searches among calls, for the folded row. */
export function explored(calls: readonly Called[]): { reads: number; searches: number; seconds: number } {
  const searches = calls.filter(({ call }) => /search|grep|list/.test(call.name)).length;
  const seconds = calls.reduce((sum, { result }) => sum + (result?.seconds ?? 0), 0);
  return { reads: calls.length - searches, searches, seconds };
}
