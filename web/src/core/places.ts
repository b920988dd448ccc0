/** Where a reader left each session: the row at the top of the view, unless it was the end. */

const PREFIX = "shipmate.place.";
const KEPT = 200;
const LIST = "shipmate.places";

export function readPlace(session: string, store: Storage = localStorage): string {
  return store.getItem(PREFIX + session) ?? "";
}

/** `row` empty: the reader was at the end. The places of sessions left long ago are forgotten. */
export function keepPlace(session: string, row: string, store: Storage = localStorage): void {
  try {
    const left = names(store).filter((name) => name !== session);
    if (row) left.push(session);
    for (const name of left.splice(0, left.length - KEPT)) store.removeItem(PREFIX + name);
    store.setItem(LIST, JSON.stringify(left));
    if (row) store.setItem(PREFIX + session, row);
    else store.removeItem(PREFIX + session);
  } catch {
    // a full storage: the session opens at its end
  }
}

function names(store: Storage): string[] {
  try {
    return JSON.parse(store.getItem(LIST) ?? "[]") as string[];
  } catch {
    return [];
  }
}
