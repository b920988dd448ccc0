/** The commands that are there wherever one is. */
import { language, t } from "../core/i18n.svelte";
import type { Command } from "../core/palette.svelte";
import { self } from "../core/people.svelte";
import { FOR_ADMINS, router, SECTIONS, to } from "../core/route.svelte";
import { settings, type InterfaceSettings } from "../core/settings.svelte";

const go = (hash: string) => (): void => router.go(hash);

/** `failed` is told why something did not work. */
export function everywhere(failed: (why: string) => void): Command[] {
  const set = (change: Partial<InterfaceSettings>) => (): void => {
    settings.change(change).catch((failure: unknown) => failed((failure as Error).message));
  };
  const { theme } = settings.interface;
  return [
    { id: "new", label: t("shell.new"), icon: "plus", keys: ["Alt", "N"], run: go(to.new) },
    { id: "inbox", label: t("inbox"), icon: "inbox", keys: ["Alt", "I"], run: go(to.inbox) },
    { id: "search", label: t("search"), icon: "search", keys: ["Ctrl", "Shift", "F"], run: go(to.search()) },
    { id: "dashboard", label: t("dashboard"), icon: "gauge", run: go(to.dashboard) },
    { id: "github", label: t("github"), icon: "pull-open", run: go(to.github()) },
    ...SECTIONS.filter((name) => self.admin || !FOR_ADMINS.has(name)).map((name) => ({
      id: `settings-${name}`,
      label: t("palette.settings", { name: t(`shell.settings.${name}`) }),
      icon: "gear" as const,
      ...(name === "keys" ? { keys: ["?"] } : {}),
      run: go(to.settings(name)),
    })),
    ...(["light", "dark", "system"] as const)
      .filter((one) => one !== theme)
      .map((one) => ({
        id: `theme-${one}`,
        label: t("palette.theme", { name: t(`shell.theme.${one}`) }),
        icon: "sun" as const,
        run: set({ theme: one }),
      })),
    language() === "en"
      ? { id: "zh", label: "切换到中文", icon: "edit", run: set({ language: "zh-CN" }) }
      : { id: "en", label: "Switch to English", icon: "edit", run: set({ language: "en" }) },
    {
      id: "sign-out",
      label: t("account.sign-out"),
      icon: "signout",
      run: () => void self.signOut().catch((failure: Error) => failed(failure.message)),
    },
  ];
}
