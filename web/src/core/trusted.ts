/**
 * The one place where text becomes markup or the address of a script. The policy `shipmate` is
 * private to this module: what comes out has been through DOMPurify, or is our own worker.
 */
import DOMPurify from "dompurify";
import highlightUrl from "./highlight.worker.ts?worker&url";
import hubUrl from "./hub.worker.ts?worker&url";

interface Policy {
  createHTML(html: string): unknown;
  createScriptURL(url: string): unknown;
}
interface Factory {
  createPolicy(name: string, rules: Record<string, (text: string) => string>): Policy;
}
const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
const policy = factory?.createPolicy("shipmate", {
  createHTML: (html) => html,
  createScriptURL: ownFile,
});

const TAGS = [
  "a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
  "li", "ol", "p", "pre", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
];
const ATTRIBUTES = ["align", "class", "data-lang", "href", "start", "tabindex", "title"];

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer");
});

/** Clean nodes from Markdown's HTML: text markup only, links to http, https and mailto only. */
export function cleanNodes(html: string): DocumentFragment {
  if (!DOMPurify.isSupported) {
    const plain = document.createDocumentFragment();
    plain.append(html);
    return plain;
  }
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:)/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
    ...(policy ? { TRUSTED_TYPES_POLICY: policy as never } : {}),
  }) as unknown as DocumentFragment;
}

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
