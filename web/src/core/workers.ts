/**
 * The one place where text becomes the address of a script. The policy `shipmate-workers` is
 * private to this module, and lets through the page's own workers alone.
 */
import highlightUrl from "./highlight.worker.ts?worker&url";
import hubUrl from "./hub.worker.ts?worker&url";

interface Policy {
  createScriptURL(url: string): unknown;
}
interface Factory {
  createPolicy(name: string, rules: Record<string, (text: string) => string>): Policy;
}
const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
const policy = factory?.createPolicy("shipmate-workers", { createScriptURL: ownFile });

/** The address itself when it is that of one of the page's own workers; any other is refused. */
function ownFile(url: string): string {
  if (![highlightUrl, hubUrl].includes(url)) {
    throw new Error(`A worker must be one of the page's own files, not ${url}`);
  }
  return url;
}

const trusted = (url: string): string =>
  (policy ? policy.createScriptURL(url) : ownFile(url)) as string;

export function ownWorker(url: string): Worker {
  const address = trusted(url);
  return new Worker(address, { type: "module" });
}

/** The worker that all tabs of the browser share; each call opens a port to it. */
export function ownSharedWorker(url: string): SharedWorker {
  const address = trusted(url);
  return new SharedWorker(address, { type: "module", name: "shipmate" });
}
