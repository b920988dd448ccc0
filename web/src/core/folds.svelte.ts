/** Which cards a person opened or closed; kept for the tab, through streaming and reload. */
import { SvelteMap } from "svelte/reactivity";

const KEPT = 300;

export class Folds {
  private readonly key: string;
  private readonly map: SvelteMap<string, boolean>;

  constructor(session: string) {
    this.key = `shipmate.folds.${session}`;
    this.map = new SvelteMap(this.remembered());
  }

  isOpen(key: string, byDefault: boolean): boolean {
    return this.map.get(key) ?? byDefault;
  }

  set(key: string, open: boolean): void {
    this.map.set(key, open);
    const newest = [...this.map].slice(-KEPT);
    try {
      sessionStorage.setItem(this.key, JSON.stringify(newest));
    } catch {
      // a full storage: the folds hold until the page is left
    }
  }

  private remembered(): [string, boolean][] {
    try {
      return JSON.parse(sessionStorage.getItem(this.key) ?? "[]") as [string, boolean][];
    } catch {
      return [];
    }
  }
}
