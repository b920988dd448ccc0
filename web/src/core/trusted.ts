/**
 * The one place where text becomes markup or the address of a script. The policy `shipmate` is
 * private to this module: what comes out has been through DOMPurify, or is our own worker.
 */
import DOMPurify from "dompurify";

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
  createScriptURL: (url) => url,
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

/** A worker from one of our own built files; any other origin is refused. */
export function ownWorker(url: string): Worker {
  if (new URL(url, location.href).origin !== location.origin) {
    throw new Error(`A worker must be one of the page's own files, not ${url}`);
  }
  return new Worker((policy ? policy.createScriptURL(url) : url) as string, { type: "module" });
}
