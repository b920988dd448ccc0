/** A session as a copy: a branch of it, a file of it, a session of a file. */
import { api, call, got } from "./api";
import type { SessionRow } from "./protocol";

export const FORMATS = ["md", "html", "json"] as const;
export type Format = (typeof FORMATS)[number];

/** A new session up to `block`; with `text`, that message of the user is said anew in it. */
export async function branch(
  id: string,
  block: string,
  client_id: string,
  text = "",
): Promise<SessionRow> {
  const body = { block, client_id, text };
  const made = api.POST("/api/agent/sessions/{id}/fork", { params: { path: { id } }, body });
  return (await got(made)) as SessionRow;
}

/** Saves the whole session as a file of the browser's downloads. */
export async function download(id: string, format: Format): Promise<void> {
  const path = `/api/agent/sessions/${encodeURIComponent(id)}/export?format=${format}`;
  const answer = await call("GET", path);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = nameIn(answer.headers.get("Content-Disposition") ?? "") || `session.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the download reads it by then
}

/** The file's name in a `Content-Disposition`, in its UTF-8 form. */
export function nameIn(disposition: string): string {
  const named = /filename\*=UTF-8''([^;]+)/i.exec(disposition);
  return named ? decodeURIComponent(named[1]!) : "";
}

/** A new session of an exported file; null when the file is none of ours. */
export async function bringIn(file: Blob): Promise<SessionRow | null> {
  const text = await file.text();
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof document !== "object" || !document || !("shipmate" in document)) return null;
  return (await (await call("POST", "/api/agent/sessions/import", document)).json()) as SessionRow;
}

/** Opens the plain page of a session beside this one. */
export async function plainPage(id: string): Promise<void> {
  const made = api.POST("/api/agent/sessions/{id}/plain", { params: { path: { id } } });
  const { url } = await got(made);
  const link = document.createElement("a");
  Object.assign(link, { href: url, target: "_blank", rel: "noopener" });
  link.click();
}
