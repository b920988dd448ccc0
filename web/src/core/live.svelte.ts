/** A message while it streams: its Markdown, let out evenly where the reader wants that. */
import { prefersReducedMotion } from "svelte/motion";
import { type MdBlock, StreamMarkdown } from "./markdown";
import { settings } from "./settings.svelte";
import { Smooth } from "./smooth";

export class LiveMarkdown {
  private readonly stream = new StreamMarkdown();
  private readonly smooth = new Smooth();
  /** Rises when more was let out. */
  private drawn = $state(0);
  private taken = 0;
  private frame = 0;

  /** The blocks of what is let out so far, of all `pieces` that have come. */
  take(pieces: readonly string[]): readonly MdBlock[] {
    void this.drawn;
    const fresh = pieces.slice(this.taken).join("");
    // What was there already when this was opened is not let out anew.
    const evenly = settings.interface.smooth && !prefersReducedMotion.current && this.taken > 0;
    this.taken = pieces.length;
    if (!evenly || document.hidden) {
      this.push(this.smooth.all() + fresh);
      return this.stream.blocks;
    }
    this.smooth.add(fresh, performance.now());
    if (this.smooth.waiting && !this.frame) this.next();
    return this.stream.blocks;
  }

  close(): void {
    cancelAnimationFrame(this.frame);
  }

  private next(): void {
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      const text = this.smooth.take(now);
      this.push(text);
      if (this.smooth.waiting) this.next();
      if (text) this.drawn += 1;
    });
  }

  private push(text: string): void {
    if (text) this.stream.push(text);
  }
}
