/** Code as lines in the page, coloured by a worker; no markup is ever parsed here. */
import type { Line } from "./highlight-lines";
import workerUrl from "./highlight.worker.ts?worker&url";
import { ownWorker } from "./workers";

let worker: Worker | null = null;
let asked = 0;
const waiting = new Map<number, (lines: Line[] | null) => void>();
const cache = new Map<string, Line[] | null>();
const CACHED = 400;
/** Longer code is shown plain: colouring it costs more than it helps. */
const LONGEST = 200_000;
/** Colouring of code that still grows, at most so often. */
const EVERY_MS = 200;

function ask(code: string, lang: string): Promise<Line[] | null> {
  const known = cache.get(keyOf(code, lang));
  if (known !== undefined || !lang || code.length > LONGEST) return Promise.resolve(known ?? null);
  if (!worker) {
    worker = ownWorker(workerUrl);
    worker.onmessage = ({ data }: MessageEvent<{ id: number; lines: Line[] | null }>) => {
      waiting.get(data.id)?.(data.lines);
      waiting.delete(data.id);
    };
  }
  const id = ++asked;
  worker.postMessage({ id, code, lang });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const keyOf = (code: string, lang: string): string => `${lang}\0${code}`;

/** Lines of code that did not grow on while they were coloured. */
function keep(code: string, lang: string, lines: Line[]): void {
  cache.set(keyOf(code, lang), lines);
  if (cache.size > CACHED) cache.delete(cache.keys().next().value!);
}

/** A `code` element whose text can grow; only lines that changed touch the page. */
export class CodeView {
  private text = "";
  private rows: HTMLElement[] = [];
  private painted: string[] = [];
  private busy = false;
  private again = false;
  private asked = 0;

  constructor(
    private readonly element: HTMLElement,
    private readonly lang: string,
  ) {}

  set(code: string): void {
    if (this.rows.length && code === this.text) return;
    const grew = this.rows.length > 0 && code.startsWith(this.text);
    const from = grew ? this.rows.length - 1 : 0;
    if (!grew) this.clear();
    this.text = code;
    const lines = code.split("\n");
    for (let i = from; i < lines.length; i++) this.plain(i, lines[i]!);
    this.colour();
  }

  /** Colours the text that stands in the element already. */
  adopt(): void {
    this.set((this.element.textContent ?? "").replace(/\n$/, ""));
  }

  private clear(): void {
    this.element.replaceChildren();
    this.rows = [];
    this.painted = [];
  }

  private plain(index: number, line: string): void {
    let row = this.rows[index];
    if (!row) {
      row = document.createElement("span");
      this.rows.push(row);
      this.element.append(row);
    }
    row.textContent = `${line}\n`;
    this.painted[index] = "";
  }

  private colour(): void {
    this.again = true;
    if (this.busy) return;
    this.busy = true;
    const wait = Math.max(0, EVERY_MS - (performance.now() - this.asked));
    setTimeout(() => void this.paint(), this.asked ? wait : 0);
  }

  private async paint(): Promise<void> {
    this.again = false;
    this.asked = performance.now();
    const text = this.text;
    const lines = await ask(text, this.lang);
    if (lines && text === this.text) keep(text, this.lang, lines);
    if (lines && this.text.startsWith(text)) {
      const last = this.text === text ? lines.length : lines.length - 1;
      for (let i = 0; i < last; i++) this.pairs(i, lines[i]!);
    }
    this.busy = false;
    if (this.again) this.colour();
  }

  private pairs(index: number, line: Line): void {
    const row = this.rows[index];
    const key = line.join("\0");
    if (!row || this.painted[index] === key) return;
    const nodes: (Node | string)[] = [];
    for (let i = 0; i < line.length; i += 2) nodes.push(piece(line[i]!, line[i + 1]!));
    row.replaceChildren(...nodes, "\n");
    this.painted[index] = key;
  }
}

function piece(name: string, text: string): Node | string {
  if (!name) return text;
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  return span;
}
