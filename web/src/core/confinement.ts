/** What holds a command back, in words. */
import type { Key } from "./i18n.svelte";
import type { Detail } from "./protocol";

type Command = Extract<Detail, { kind: "command" }>;
const ANY = "*";

export interface Confinement {
  text: Key;
  hosts: string[];
  /** There is none, or it does not hold all that one expects of it. */
  weak: boolean;
}

/** Nothing where the record is older than sandboxes. */
export function confinement({ sandbox, network = [] }: Command): Confinement | null {
  const hosts = network.includes(ANY) ? [] : network;
  if (!sandbox) return null;
  if (sandbox === "none") return { text: "confined.none", hosts: [], weak: true };
  if (sandbox === "landlock") {
    const text = network.length ? "confined.landlock-open" : "confined.landlock";
    return { text, hosts: [], weak: network.length > 0 };
  }
  if (!network.length) return { text: "confined.offline", hosts, weak: false };
  return { text: hosts.length ? "confined.hosts" : "confined.public", hosts, weak: false };
}
