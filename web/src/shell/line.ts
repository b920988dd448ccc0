/** When the page speaks about its line to the server. */
import type { Link } from "../core/line";

/** Milliseconds that a lost line is not mentioned, and until it gets a bar of its own. */
export const DOT_AFTER = 2000;
export const BAR_AFTER = 8000;

export type Spoken = "" | "dot" | "bar" | "offline";

/** What is said of a line that has been lost for `ms`; a device without network is told at once. */
export function spoken(link: Link, ms: number, online: boolean): Spoken {
  if (link !== "lost") return "";
  if (!online) return "offline";
  if (ms >= BAR_AFTER) return "bar";
  return ms >= DOT_AFTER ? "dot" : "";
}
