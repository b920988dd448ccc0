/** Characters that hide or reorder text, made visible: what is approved must be what is seen. */

export interface Piece {
  text: string;
  /** The text stands for a character that would not show. */
  hidden: boolean;
}

// Controls but tab and line feed; soft hyphen; Arabic letter mark; Hangul and Khmer fillers;
// zero-width and bidi marks; line and paragraph separators; invisible operators; variation
// selectors beyond emoji; blanks that look like a space; tags; unpaired surrogates.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;

export function pieces(text: string): Piece[] {
  const out: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) out.push({ text: text.slice(end, match.index), hidden: false });
    out.push({ text: named(match[0]), hidden: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) out.push({ text: text.slice(end), hidden: false });
  return out;
}

const named = (c: string): string =>
  `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
