/** Hunks of the server as numbered lines, below each other or side by side. */
import type { Hunk } from "./protocol";

export interface Line {
  /** A blank, `+` or `-`. */
  sign: string;
  text: string;
  before: number | "";
  after: number | "";
}
/** What stands beside each other; one side may be missing. */
export interface Pair {
  left: Line | null;
  right: Line | null;
}

export function numbered(hunk: Hunk): Line[] {
  let [before, after] = [hunk.old_start, hunk.new_start];
  return hunk.lines.map((line) => {
    const sign = line[0] ?? " ";
    return {
      sign,
      text: line.slice(1),
      before: sign === "+" ? "" : before++,
      after: sign === "-" ? "" : after++,
    };
  });
}

/** Lines taken out beside those put in for them. */
export function paired(lines: readonly Line[]): Pair[] {
  const pairs: Pair[] = [];
  let out: Line[] = [];
  let put: Line[] = [];
  const flush = (): void => {
    for (let i = 0; i < Math.max(out.length, put.length); i++) {
      pairs.push({ left: out[i] ?? null, right: put[i] ?? null });
    }
    [out, put] = [[], []];
  };
  for (const line of lines) {
    if (line.sign === "-") {
      if (put.length) flush();
      out.push(line);
    } else if (line.sign === "+") put.push(line);
    else {
      flush();
      pairs.push({ left: line, right: line });
    }
  }
  flush();
  return pairs;
}
