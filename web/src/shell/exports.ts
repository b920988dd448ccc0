/** The entries of a session's menu that save it as a file. */
import { download, FORMATS, plainPage } from "../core/copies";
import { t } from "../core/i18n.svelte";
import type { Action } from "./Menu.svelte";

/** `onerror` is told what went wrong; empty: a new try. */
export const exportActions = (id: string, onerror: (why: string) => void): Action[] =>
  FORMATS.map((format) => ({
    icon: "save",
    label: t(`shell.export.${format}`),
    run: () => {
      onerror("");
      download(id, format).catch((failure: unknown) => onerror((failure as Error).message));
    },
  }));

/** Opens all of it as one page without scripts: to print, or for a screen reader. */
export const plainAction = (id: string, onerror: (why: string) => void): Action => ({
  icon: "print",
  label: t("shell.plain"),
  run: () => {
    onerror("");
    plainPage(id).catch((failure: unknown) => onerror((failure as Error).message));
  },
});
