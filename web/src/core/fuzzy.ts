/** Matching as people type: words in any order, letters left out. */

export interface Match {
  score: number;
  /** Places in the text, ascending. */
  at: number[];
}

const START = /[\s\-_/.:]/;

/** How well `text` fits every word of `query`; null: one of them is not in it. */
export function fuzzy(text: string, query: string): Match | null {
  const low = text.toLowerCase();
  const at = new Set<number>();
  let score = 0;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const found = whole(low, word) ?? scattered(low, word);
    if (!found) return null;
    score += found.score;
    for (const place of found.at) at.add(place);
  }
  return { score, at: [...at].sort((a, b) => a - b) };
}

const begins = (text: string, place: number): boolean => place === 0 || START.test(text[place - 1]!);

/** The word as it stands; best at the beginning of one. */
function whole(text: string, word: string): Match | null {
  let place = text.indexOf(word);
  if (place < 0) return null;
  for (let next = place; next >= 0 && !begins(text, place); next = text.indexOf(word, next + 1)) {
    if (begins(text, next)) place = next;
  }
  const score = 100 + (begins(text, place) ? 50 : 0) - Math.min(place, 40);
  return { score, at: Array.from(word, (_, i) => place + i) };
}

/** Its letters in order, with gaps: few of them, and at most as wide as three letters each. */
function scattered(text: string, word: string): Match | null {
  let best: Match | null = null;
  for (let from = text.indexOf(word[0]!); from >= 0; from = text.indexOf(word[0]!, from + 1)) {
    const at = inOrder(text, word, from);
    if (!at) break;
    const width = at.at(-1)! - from + 1;
    if (width > word.length * 4) continue;
    const starts = at.filter((place) => begins(text, place)).length;
    const score = 40 + starts * 8 - width;
    if (!best || score > best.score) best = { score, at };
  }
  return best;
}

function inOrder(text: string, word: string, from: number): number[] | null {
  const at: number[] = [];
  let place = from - 1;
  for (const letter of word) {
    place = text.indexOf(letter, place + 1);
    if (place < 0) return null;
    at.push(place);
  }
  return at;
}

/** The text cut where what fits begins and ends, for marking it. */
export function marked(text: string, at: readonly number[]): { text: string; hit: boolean }[] {
  const hits = new Set(at);
  const parts: { text: string; hit: boolean }[] = [];
  for (let place = 0; place < text.length; place++) {
    const hit = hits.has(place);
    const last = parts.at(-1);
    if (last?.hit === hit) last.text += text[place];
    else parts.push({ text: text[place]!, hit });
  }
  return parts;
}
