/** Notifications of the system while the page is hidden: off until switched on in this browser. */
import { asked } from "./deciding.svelte";
import { t } from "./i18n.svelte";
import type { Pending } from "./protocol";
import { router, to } from "./route.svelte";
import { visible } from "./visible";

const KEY = "shipmate.notify";

class Notify {
  on = $state(localStorage.getItem(KEY) === "on");
  /** Empty: it can be switched on. `insecure`: not offered on this address; `denied`: by the user. */
  off = $state<"" | "insecure" | "denied">(hindrance());

  async set(on: boolean): Promise<void> {
    if (on && !this.off) await Notification.requestPermission();
    this.off = hindrance();
    this.on = on && !this.off && Notification.permission === "granted";
    localStorage.setItem(KEY, this.on ? "on" : "off");
  }
}

function hindrance(): "" | "insecure" | "denied" {
  if (!globalThis.isSecureContext || typeof Notification === "undefined") return "insecure";
  return Notification.permission === "denied" ? "denied" : "";
}

export const notify = new Notify();

/** Tells of what waits, once for all tabs. */
export function told(session: string, block: Pending): void {
  if (!notify.on || notify.off || !document.hidden) return;
  const question = block.type === "ask_user";
  const body = visible(asked(block)).slice(0, 200);
  const shown = new Notification(t(question ? "say.question.short" : "say.approval.short"), {
    body,
    tag: block.id,
    icon: "/icon.svg",
  });
  shown.addEventListener("click", () => {
    window.focus();
    router.go(to.session(session));
    shown.close();
  });
}
