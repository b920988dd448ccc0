/**
 * Text that comes in bursts, let out evenly. Never more than `BEHIND` ms behind what has come, and
 * nothing is lost: what is held is only what is not let out yet.
 */

/** ms; a reader does not notice less (`ui.md`: about 200). */
export const BEHIND = 180;
/** ms within which what is held is let out while nothing more comes. */
const OVER = 120;

export class Smooth {
  private held = "";
  /** When each part of what is held came: its end, counted from the start of `held`. */
  private marks: { at: number; end: number }[] = [];
  private last = 0;

  get waiting(): boolean {
    return this.held.length > 0;
  }

  add(text: string, now: number): void {
    if (!text) return;
    if (!this.held) this.last = now;
    this.held += text;
    this.marks.push({ at: now, end: this.held.length });
  }

  /** What is to be shown now, in addition to what was. */
  take(now: number): string {
    if (!this.held) return "";
    const passed = Math.max(0, now - this.last);
    this.last = now;
    const due = this.marks.findLast((mark) => now - mark.at >= BEHIND)?.end ?? 0;
    const even = Math.ceil((this.held.length * Math.min(passed, OVER)) / OVER);
    return this.let(Math.max(due, even));
  }

  all(): string {
    return this.let(this.held.length);
  }

  private let(count: number): string {
    let end = Math.min(count, this.held.length);
    const last = this.held.charCodeAt(end - 1);
    if (end < this.held.length && last >= 0xd800 && last < 0xdc00) end += 1; // a pair stays whole
    const out = this.held.slice(0, end);
    this.held = this.held.slice(end);
    this.marks = this.marks.filter((mark) => mark.end > end);
    for (const mark of this.marks) mark.end -= end;
    return out;
  }
}
