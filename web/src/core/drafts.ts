/** What was typed and not yet accepted by the server, kept per session through reloads. */
import type { Chosen } from "./github";
import { newId } from "./ids";

export interface Paste {
  id: string;
  name: string;
  text: string;
}
export interface Draft {
  text: string;
  pastes: Paste[];
  /** Issues and pull requests that go along. */
  issues?: Chosen[];
}

/** A paste longer than this becomes a chip. */
export const LONG_PASTE = 4000;
export const PREFIX = "shipmate.draft.";
const EMPTY: Draft = { text: "", pastes: [] };

/** `session` is empty for a new chat. */
export function readDraft(session: string, store: Storage = localStorage): Draft {
  try {
    return { ...EMPTY, ...(JSON.parse(store.getItem(PREFIX + session) ?? "{}") as object) };
  } catch {
    return EMPTY;
  }
}

/** False: the browser's storage is full or off, and the draft lives in this page only. */
export function keepDraft(session: string, draft: Draft, store: Storage = localStorage): boolean {
  try {
    if (draft.text || draft.pastes.length || draft.issues?.length) store.setItem(PREFIX + session, JSON.stringify(draft));
    else store.removeItem(PREFIX + session);
    return true;
  } catch {
    return false;
  }
}

/** The draft with a paste as a chip; null when it is short enough to stay text. */
export function withPaste(draft: Draft, text: string): Draft | null {
  if (text.length <= LONG_PASTE) return null;
  const taken = new Set(draft.pastes.map((paste) => paste.name));
  let n = 1;
  while (taken.has(name(n))) n++;
  return { ...draft, pastes: [...draft.pastes, { id: newId(), name: name(n), text }] };
}

const name = (n: number): string => (n === 1 ? "pasted.txt" : `pasted-${n}.txt`);

/** All of them: somebody else may sit here next. */
export function dropDrafts(store: Storage = localStorage): void {
  const keys = Array.from({ length: store.length }, (_, i) => store.key(i) ?? "");
  for (const key of keys) if (key.startsWith(PREFIX)) store.removeItem(key);
}
