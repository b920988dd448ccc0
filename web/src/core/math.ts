/** Formulas as MathML. Loaded with the first one; what cannot be drawn stays as it was written. */
import temml from "temml";
import { cleanMath } from "./trusted";

const OPTIONS = { throwOnError: true, trust: false, strict: false, maxExpand: 300, maxSize: [20, 20] as [number, number] };
/** Styles in markup are against the page's policy; in texts the quotes are escaped. */
const STYLE = / style="[^"]*"/g;
const cache = new Map<string, DocumentFragment | null>();
const CACHED = 400;

function drawn(tex: string, block: boolean): DocumentFragment | null {
  const key = `${block}${tex}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const made = draw(tex, block);
  cache.set(key, made);
  if (cache.size > CACHED) cache.delete(cache.keys().next().value!);
  return made;
}

function draw(tex: string, block: boolean): DocumentFragment | null {
  try {
    const mathml = temml.renderToString(tex, { ...OPTIONS, displayMode: block });
    return cleanMath(mathml.replace(STYLE, ""));
  } catch {
    return null; // the writer's mistake, or half a formula: its source is shown
  }
}

/** Draws all formulas of a piece of Markdown that is clean already. */
export function drawAll(root: ParentNode): void {
  for (const code of root.querySelectorAll<HTMLElement>("code[data-math]")) {
    const kind = code.dataset["math"];
    const made = kind && drawn(code.textContent, kind === "block");
    if (!made) continue;
    const box = document.createElement("span");
    box.className = kind === "block" ? "math wide" : "math";
    if (kind === "block") box.tabIndex = 0;
    box.append(made.cloneNode(true));
    code.replaceWith(box);
  }
}
