/**
 * Markdown to blocks, whole or as it streams in. A block that can no longer change is sealed
 * and never parsed again. Raw HTML stays text; pictures become links (nothing is fetched unasked).
 */
import { Marked, type Token, Tokenizer, type Tokens } from "marked";
import remend from "remend";
import { formulas } from "./mathmark";

export type MdBlock =
  | { kind: "html"; html: string }
  | { kind: "code"; code: string; lang: string };

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** A picture of elsewhere is not fetched: a link of this class, opened by a click. */
export const PICTURE = "picture";
/** Links do not stand in links. */
let linked = false;

/** Longer links are words: each that is begun is looked through to here, and not to the text's end. */
const LONGEST_LINK = 4_096;
/** A picture within the text, which is shown by its words alone. */
const INLAID = /^!?\[[^\]\n]{0,500}\]\(data:[^\s)]*\)/;

const marked = new Marked({
  gfm: true,
  async: false,
  tokenizer: {
    link(src) {
      if (src.startsWith("[", src[0] === "!" ? 1 : 0) && src.includes(")")) {
        const near = INLAID.test(src) ? src : src.slice(0, LONGEST_LINK);
        return Tokenizer.prototype.link.call(this, near);
      }
      return undefined;
    },
  },
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
    image({ href, text }: Tokens.Image) {
      const words = `🖼 ${escaped(text || href)}`;
      return linked ? words : `<a class="${PICTURE}" href="${escaped(href)}">${words}</a>`;
    },
    link({ href, tokens }: Tokens.Link) {
      if (linked) return this.parser.parseInline(tokens);
      linked = true;
      const inner = this.parser.parseInline(tokens);
      linked = false;
      return `<a href="${escaped(href)}">${inner}</a>`;
    },
    // Below the page's h1 and the round's h2.
    heading({ tokens, depth }: Tokens.Heading) {
      const tag = `h${Math.min(depth + 2, 6)}`;
      return `<${tag} class="d${depth}">${this.parser.parseInline(tokens)}</${tag}>`;
    },
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? "☑ " : "☐ "),
    code: ({ text, lang }: Tokens.Code) =>
      `<pre tabindex="0"><code data-lang="${escaped(language(lang))}">${escaped(text)}</code></pre>`,
    table(token: Tokens.Table) {
      const cells = (row: Tokens.TableCell[], tag: string): string =>
        row
          .map((c) => {
            const align = c.align ? ` align="${c.align}"` : "";
            return `<${tag}${align}>${this.parser.parseInline(c.tokens)}</${tag}>`;
          })
          .join("");
      const body = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("");
      const head = `<thead><tr>${cells(token.header, "th")}</tr></thead>`;
      return `<div class="wide" tabindex="0"><table>${head}<tbody>${body}</tbody></table></div>`;
    },
  },
});

marked.use(formulas);

const language = (info: string | undefined): string =>
  (info ?? "").trim().split(/[\s,{]/)[0]?.toLowerCase() ?? "";

/** Quotes and lists within each other, on one line or by what they are set in: 40 at most. */
const DEEP = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))){40}|^[ \t]{160,}(?:[-*+]|\d{1,9}[.)])[ \t]/m;

/** The tokens of a text. One that is nested beyond all reading stays as it was written. */
const lex = (text: string): Token[] =>
  DEEP.test(text) ? [{ type: "code", raw: text, text }] : marked.lexer(text);

const silent = (token: Token): boolean => token.type === "space" || token.type === "def";

function toBlock(token: Token): MdBlock {
  if (token.type === "code") {
    const { text, lang } = token as Tokens.Code;
    return { kind: "code", code: text, lang: language(lang) };
  }
  return { kind: "html", html: marked.parser([token]) };
}

function lastSpoken(tokens: Token[], before: number): number {
  let last = before - 1;
  while (last >= 0 && silent(tokens[last]!)) last--;
  return last;
}

const cache = new Map<string, MdBlock[]>();
const CACHED = 400;

/** The blocks of a finished text. */
export function renderAll(text: string): MdBlock[] {
  const known = cache.get(text);
  if (known) return known;
  const blocks = lex(text).filter((token) => !silent(token)).map(toBlock);
  cache.set(text, blocks);
  if (cache.size > CACHED) cache.delete(cache.keys().next().value!);
  return blocks;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)\n/;

/** Text that grows. `blocks` are the sealed ones and the open one, in order. */
export class StreamMarkdown {
  private sealed: MdBlock[] = [];
  private open: MdBlock | null = null;
  /** What is not sealed yet; inside a fence, the code not taken over yet. */
  private tail = "";
  private fence = "";

  get blocks(): MdBlock[] {
    return this.open ? [...this.sealed, this.open] : this.sealed;
  }

  push(piece: string): void {
    this.tail += piece;
    while (this.fence ? this.takeCode() : this.takeText());
  }

  /** Both give true when there may be more to take. */
  private takeCode(): boolean {
    const open = this.open as Extract<MdBlock, { kind: "code" }>;
    const mark = this.fence[0]!;
    const close = new RegExp(`(^|\\n) {0,3}${mark}{${this.fence.length},}[ \\t]*\\n`);
    const start = open.code ? `\n${this.tail}` : this.tail;
    const end = close.exec(start);
    if (end) {
      const body = start.slice(0, end.index);
      this.seal({ ...open, code: open.code + body });
      this.tail = start.slice(end.index + end[0].length);
      this.fence = "";
      return true;
    }
    // Whole lines are taken; the last one may yet turn out to be the closing fence.
    const cut = this.tail.lastIndexOf("\n");
    if (cut >= 0) {
      const lines = this.tail.slice(0, cut);
      this.open = { ...open, code: open.code ? `${open.code}\n${lines}` : lines };
      this.tail = this.tail.slice(cut + 1);
    }
    return false;
  }

  private takeText(): boolean {
    const fence = FENCE.exec(this.tail);
    if (fence && !(fence[1]![0] === "`" && fence[2]!.includes("`"))) {
      this.fence = fence[1]!;
      this.open = { kind: "code", code: "", lang: language(fence[2]) };
      this.tail = this.tail.slice(fence[0].length);
      return true;
    }
    const tokens = lex(this.tail);
    // A block is sealed once the first line of the next one is whole: half a line can still
    // turn out to belong to it (the "2" of a list's "2.").
    let last = lastSpoken(tokens, tokens.length);
    if (last > 0 && !tokens[last]!.raw.includes("\n")) last = lastSpoken(tokens, last);
    let taken = 0;
    for (const token of tokens.slice(0, Math.max(0, last))) {
      taken += token.raw.length;
      if (!silent(token)) this.sealed = [...this.sealed, toBlock(token)];
    }
    this.tail = this.tail.slice(taken);
    this.open = null;
    if (taken && FENCE.test(this.tail)) return true;
    if (this.tail.trim()) this.open = this.half();
    return false;
  }

  /** The open block as it would look if its marks were closed here. */
  private half(): MdBlock {
    const tokens = lex(remend(this.tail, { katex: false })).filter((token) => !silent(token));
    const only = tokens.length === 1 ? tokens[0]! : undefined;
    if (only?.type === "code") return toBlock(only);
    return { kind: "html", html: marked.parser(tokens) };
  }

  private seal(block: MdBlock): void {
    this.sealed = [...this.sealed, block];
    this.open = null;
  }
}
