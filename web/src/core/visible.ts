/** Characters that hide or reorder text, made visible: what is approved must be what is seen. */

export interface Piece {
  text: string;
  /** The text stands for characters that would not show. */
  hidden: boolean;
}

// Controls but tab and line feed; soft hyphen; Arabic letter mark; Hangul and Khmer fillers;
// zero-width and bidi marks; line and paragraph separators; invisible operators; variation
// selectors beyond emoji; blanks that look like a space; tags; unpaired surrogates.
const HIDDEN =
  /(?:[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udfff])+/gu;
/** The joint of an emoji of several, which is one sign for the reader. */
const JOINT = /(?<=\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d(?=\p{Extended_Pictographic})/uy;

export function pieces(text: string): Piece[] {
  const out: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (joins(text, match)) continue;
    if (match.index > end) out.push({ text: text.slice(end, match.index), hidden: false });
    out.push({ text: named(match[0]), hidden: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) out.push({ text: text.slice(end), hidden: false });
  return out;
}

/** The text with what would not show spelled out, for where there is no markup. */
export const visible = (text: string): string => pieces(text).map((piece) => piece.text).join("");

function joins(text: string, match: RegExpExecArray): boolean {
  JOINT.lastIndex = match.index;
  return match[0].length === 1 && JOINT.test(text);
}

/** A run of hidden characters; the same one many times is named once. */
function named(run: string): string {
  let [out, count, before] = ["", 0, ""];
  const told = (): string => (count > 1 ? `${code(before)}×${count}` : before && code(before));
  for (const c of run) {
    if (c !== before) [out, count, before] = [out + told(), 0, c];
    count += 1;
  }
  return out + told();
}

const code = (c: string): string =>
  `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
