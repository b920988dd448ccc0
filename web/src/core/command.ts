/** A command line as its words, with quotes as a shell has them; nothing is put in for `$`. */
export function words(line: string): string[] {
  const found: string[] = [];
  for (const [, double, single, plain] of line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)) {
    found.push(double?.replace(/\\(.)/g, "$1") ?? single ?? plain ?? "");
  }
  return found;
}

/** Words as one line that `words` reads back. */
export const joined = (parts: readonly string[]): string =>
  parts.map((part) => (/^[\w./:@=,+-]+$/.test(part) ? part : JSON.stringify(part))).join(" ");
