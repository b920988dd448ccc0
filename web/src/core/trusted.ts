/**
 * The one place where text becomes markup. The policy `shipmate` is private to this module: what
 * comes out has been through DOMPurify.
 */
import DOMPurify from "dompurify";
import { hostOf, target, told } from "./links";
import { PICTURE } from "./markdown";
import { visible } from "./visible";

interface Factory {
  createPolicy(name: string, rules: Record<string, (text: string) => string>): object;
}
const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
const policy = factory?.createPolicy("shipmate", { createHTML: (html) => html });

const TAGS = [
  "a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
  "li", "ol", "p", "pre", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
];
/** Beside `href`; what they hold is never an address. */
const PLAIN = ["align", "class", "data-lang", "data-math", "start", "tabindex"];
const MATH = [
  "math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom",
  "mprescripts", "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup",
  "mtable", "mtd", "mtext", "mtr", "munder", "munderover",
];
const MATH_ATTRIBUTES = [
  "accent", "accentunder", "class", "columnalign", "columnspan", "depth", "dir", "display",
  "displaystyle", "fence", "form", "height", "largeop", "linethickness", "lspace", "mathcolor",
  "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "rowspan", "rspace",
  "scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width",
];

/** Opens apart and tells nobody from where; says where it leads when its words do not. */
function labelled(link: HTMLAnchorElement): void {
  const href = link.getAttribute("href") ?? "";
  if (!href) return link.replaceWith(...link.childNodes);
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  link.title = target(href);
  const words = link.textContent;
  if (visible(words) !== words) link.textContent = visible(words);
  if (!words.trim()) link.textContent = link.title;
  const host = link.classList.contains(PICTURE) ? hostOf(href) : told(href, words);
  if (!host) return;
  const note = document.createElement("span");
  note.className = "host";
  note.textContent = host;
  link.append(" ", note);
}

/** Clean nodes from Markdown's HTML: text markup only, links to http, https and mailto only. */
export function cleanNodes(html: string): DocumentFragment {
  if (!DOMPurify.isSupported) {
    const plain = document.createDocumentFragment();
    plain.append(html);
    return plain;
  }
  const clean = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["href", ...PLAIN],
    ADD_URI_SAFE_ATTR: PLAIN,
    ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:)/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
    ...(policy ? { TRUSTED_TYPES_POLICY: policy as never } : {}),
  }) as unknown as DocumentFragment;
  for (const link of clean.querySelectorAll("a")) labelled(link);
  return clean;
}

/** Clean nodes of a formula: MathML alone, without links, pictures and styles. */
export function cleanMath(mathml: string): DocumentFragment | null {
  if (!DOMPurify.isSupported) return null;
  return DOMPurify.sanitize(mathml, {
    ALLOWED_TAGS: MATH,
    ALLOWED_ATTR: MATH_ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
    ...(policy ? { TRUSTED_TYPES_POLICY: policy as never } : {}),
  }) as unknown as DocumentFragment;
}
