/** What the palette offers: commands that parts of the page bring while they are shown. */
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
  private sources = $state.raw<readonly Source[]>([]);

  get commands(): readonly Command[] {
    return this.sources.flatMap((source) => source());
  }

  /** Offers commands until the answer is called; for an effect. */
  offer(source: Source): () => void {
    untrack(() => (this.sources = [...this.sources, source]));
    return () => (this.sources = this.sources.filter((one) => one !== source));
  }
}

export const palette = new Palette();
