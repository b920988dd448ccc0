/** The commands of the conversation that is open. */
import { compactNow } from "../core/commands";
import { download, FORMATS, plainPage } from "../core/copies";
import { t } from "../core/i18n.svelte";
import type { Command } from "../core/palette.svelte";
import type { OpenSession } from "../core/session.svelte";
import { sessions } from "../core/sessions.svelte";

interface Ways {
  find: () => void;
  outline: () => void;
  failed: (why: string) => void;
}

export function ofSession(session: OpenSession, { find, outline, failed }: Ways): Command[] {
  const { row } = session;
  if (!row || session.phase !== "ready") return [];
  const tried = (work: () => Promise<unknown>) => (): void => {
    failed("");
    work().catch((failure: unknown) => failed((failure as Error).message));
  };
  const change = (fields: Parameters<typeof sessions.change>[1]) =>
    tried(() => sessions.change(session.id, fields));
  const running: Command = {
    id: "stop",
    label: t("shell.keys.stop"),
    icon: "stop",
    keys: ["Esc", "Esc"],
    run: tried(() => session.stop()),
  };
  return [
    ...(row.status === "running" ? [running] : []),
    { id: "find", label: t("find"), icon: "search", keys: ["Ctrl", "F"], run: find },
    { id: "outline", label: t("outline"), icon: "list", keys: ["Alt", "O"], run: outline },
    { id: "compact", label: t("compact.now"), icon: "archive", run: tried(() => compactNow(session.id)) },
    {
      id: "pin",
      label: t(row.pinned ? "shell.unpin" : "shell.pin"),
      icon: "pin",
      run: change({ pinned: !row.pinned }),
    },
    {
      id: "archive",
      label: t(row.archived ? "shell.unarchive" : "shell.archive"),
      icon: "archive",
      run: change({ archived: !row.archived }),
    },
    { id: "plain", label: t("shell.plain"), icon: "print", run: tried(() => plainPage(session.id)) },
    ...FORMATS.map((format) => ({
      id: `export-${format}`,
      label: t(`shell.export.${format}`),
      icon: "save" as const,
      run: tried(() => download(session.id, format)),
    })),
  ];
}
