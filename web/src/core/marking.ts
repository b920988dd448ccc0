/** Words marked in the page without touching it: the browser's own highlights, where it has them. */

const MOST = 1000;

/** Marks every place of `words` below `root`; empty words take the marks away. */
export function mark(root: Element, words: string): void {
  const marks = globalThis.CSS?.highlights;
  if (!marks) return;
  const found = words ? ranges(root, words.toLowerCase()) : [];
  if (found.length) marks.set("found", new Highlight(...found));
  else marks.delete("found");
}

function ranges(root: Element, words: string): Range[] {
  const found: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && found.length < MOST) {
    const node = walker.currentNode as Text;
    const text = node.data.toLowerCase();
    if (text.length !== node.data.length) continue; // letters that change their number with case
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + words.length);
      found.push(range);
    }
  }
  return found;
}
