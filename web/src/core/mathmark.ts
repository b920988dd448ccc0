/**
 * Where a formula stands in Markdown: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` on lines of
 * their own. Its source goes on as code that is marked; `math.ts` draws it. A blank line ends a
 * formula in any case, so that a text that streams is cut where a whole one is.
 */
import type { MarkedExtension, TokenizerAndRendererExtension, Tokens } from "marked";

/** Longer ones stay as they were written. */
const LONGEST = 5_000;
const MARKS = { $$: "$$", "\\[": "\\]" } as const;
type Mark = keyof typeof MARKS;

const escaped = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const code = (tex: string, kind: string): string => `<code data-math="${kind}">${escaped(tex)}</code>`;

/** Up to a blank line. */
function paragraph(src: string): string {
  const blank = /\n[ \t]*\n/.exec(src);
  return blank ? src.slice(0, blank.index + 1) : src;
}

/** From a mark at the start of a line to its end, which ends a line too; open until a blank line. */
const display: TokenizerAndRendererExtension = {
  name: "math",
  level: "block",
  start: (src) => /(?:^|\n) {0,3}(?:\$\$|\\\[)/.exec(src)?.index,
  tokenizer(src): Tokens.Generic | undefined {
    const begun = /^ {0,3}(\$\$|\\\[)/.exec(src);
    if (!begun) return undefined;
    const end = MARKS[begun[1] as Mark];
    const near = paragraph(src.slice(0, LONGEST));
    const from = begun[0].length;
    const at = near.indexOf(end, from);
    const text = near.slice(from, at).trim();
    if (at < 0 || !text) {
      const raw = paragraph(src);
      return { type: "math", raw, text: raw, open: true };
    }
    const rest = /^[ \t]*(?:\n|$)/.exec(near.slice(at + end.length));
    if (!rest) return undefined;
    return { type: "math", raw: near.slice(0, at + end.length + rest[0].length), text, open: false };
  },
  renderer: ({ text, open }) =>
    `<p>${open ? code(text.trim(), "") : code(text, "block")}</p>`,
};

/** No blank beside the marks, no letter or digit after: "$5 and $10" are sums of money. */
const INLINE = [
  { rule: /^\$\$(?!\$)([^$\n]{1,5000})\$\$/, kind: "block" },
  { rule: /^\$(?![\s$])((?:\\[^\n]|[^\\$\n]){0,999}(?:\\[^\n]|[^\\$\n\s]))\$(?!\w)/, kind: "inline" },
  { rule: /^\\\(((?:(?!\\\)|\n)[\s\S]){1,1000})\\\)/, kind: "inline" },
];

const inline: TokenizerAndRendererExtension = {
  name: "formula",
  level: "inline",
  start(src) {
    const found = [src.indexOf("$"), src.indexOf("\\(")].filter((at) => at >= 0);
    return found.length ? Math.min(...found) : undefined;
  },
  tokenizer(src): Tokens.Generic | undefined {
    for (const { rule, kind } of INLINE) {
      const found = rule.exec(src);
      if (found) return { type: "formula", raw: found[0], text: found[1]!.trim(), kind };
    }
    return undefined;
  },
  renderer: ({ text, kind }) => code(text, kind),
};

export const formulas: MarkedExtension = { extensions: [display, inline] };
