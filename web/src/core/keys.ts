/** What a key does in the composer. */
import type { SendKey } from "./settings.svelte";

export interface KeyPress {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  isComposing: boolean;
  keyCode: number;
}

/** An input method has the key: nothing of ours may act on it. 229 is what older ones report. */
export const composing = (press: KeyPress): boolean => press.isComposing || press.keyCode === 229;

/** Whether this key sends. Ctrl or Cmd with Enter sends in every mode; Alt+Enter never does. */
export function sends(press: KeyPress, mode: SendKey): boolean {
  if (composing(press) || press.key !== "Enter" || press.altKey) return false;
  if (press.ctrlKey || press.metaKey) return true;
  if (mode === "shift+enter") return press.shiftKey;
  return mode === "enter" && !press.shiftKey;
}

const ORDER: SendKey[] = ["shift+enter", "enter", "ctrl+enter"];

/** The mode after this one, for the hint that switches with a click. */
export const nextMode = (mode: SendKey): SendKey =>
  ORDER[(ORDER.indexOf(mode) + 1) % ORDER.length]!;
