/**
 * What the palette offers: commands that parts of the page bring while they are shown; and what
 * was typed for it before it was here, as it is loaded when it is first asked for.
 */
import { untrack } from "svelte";
import type { IconName } from "./icons";

export interface Command {
  id: string;
  label: string;
  icon: IconName;
  /** Its shortcut: keys pressed together. */
  keys?: readonly string[];
  run: () => void;
}
type Source = () => readonly Command[];

class Palette {
  shown = $state(false);
  words = $state("");
  /** Asked for, and not on the page yet. */
  private awaited = false;
  private entered = false;
  private sources = $state.raw<readonly Source[]>([]);

  get commands(): readonly Command[] {
    return this.sources.flatMap((source) => source());
  }

  /** Offers commands until the answer is called; for an effect. */
  offer(source: Source): () => void {
    untrack(() => (this.sources = [...this.sources, source]));
    return () => (this.sources = this.sources.filter((one) => one !== source));
  }

  ask(): void {
    if (this.shown) return;
    this.shown = this.awaited = true;
    this.entered = false;
    this.words = "";
  }

  /**
   * Its field has the keys from now on; or it failed to come, and nothing takes them. True: what
   * was typed for it ended with Enter.
   */
  ready(): boolean {
    this.awaited = false;
    return this.entered;
  }

  close(): void {
    this.shown = this.awaited = false;
  }

  /** Whether a press was meant for the palette, which is still on its way. */
  takes(press: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">): boolean {
    if (!this.awaited || press.ctrlKey || press.metaKey || press.altKey) return false;
    if (press.key === "Escape") this.close();
    else if (press.key === "Enter") this.entered = true;
    else if (this.entered) return true;
    else if (press.key === "Backspace") this.words = [...this.words].slice(0, -1).join("");
    else if ([...press.key].length === 1) this.words += press.key;
    else return false;
    return true;
  }
}

export const palette = new Palette();
