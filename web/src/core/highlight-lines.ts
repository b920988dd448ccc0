/** A line of highlighted code: class and text in turn, the class empty for plain text. */
export type Line = string[];

const PIECE = /<span class="([^"]*)">|<\/span>|\n|[^<\n]+/g;
const ENTITY: Record<string, string> = {
  "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'",
};

/** highlight.js's HTML as lines of flat pairs; of nested classes the innermost counts. */
export function toLines(html: string): Line[] {
  const lines: Line[] = [[]];
  const open: string[] = [];
  for (const [piece, name] of html.matchAll(PIECE)) {
    if (piece === "\n") lines.push([]);
    else if (name !== undefined) open.push(name);
    else if (piece === "</span>") open.pop();
    else lines.at(-1)!.push(open.at(-1) ?? "", plain(piece));
  }
  return lines;
}

const plain = (text: string): string => text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (e) => ENTITY[e]!);
