/**
 * The interface's settings: on the server where it has them, and here for the first paint. The
 * theme belongs to the device, and stays here.
 */
import { api, got } from "./api";

export type SendKey = "shift+enter" | "enter" | "ctrl+enter";
export type Theme = "system" | "light" | "dark";
export interface InterfaceSettings {
  send_key: SendKey;
  language: "auto" | "en" | "zh-CN";
  theme: Theme;
  /** Streamed text is let out evenly. */
  smooth: boolean;
}

const KEY = "shipmate.interface";
const DEFAULT: InterfaceSettings = { send_key: "shift+enter", language: "auto", theme: "system", smooth: true };

function remembered(): InterfaceSettings {
  try {
    return { ...DEFAULT, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as object) };
  } catch {
    return DEFAULT;
  }
}

class Settings {
  interface = $state.raw<InterfaceSettings>(remembered());

  constructor() {
    this.paint();
  }

  async load(): Promise<void> {
    const all = await got(api.GET("/api/settings"));
    this.keep({ ...this.interface, ...all.interface });
  }

  /** Holds at once; the server is told, and what it refuses is undone here, and that alone. */
  async change(change: Partial<InterfaceSettings>): Promise<void> {
    const before = this.interface;
    this.keep({ ...before, ...change });
    const { theme: _, ...told } = change;
    if (Object.keys(told).length === 0) return;
    try {
      // It outlives the page: who chooses and leaves at once has chosen
      await got(api.PATCH("/api/settings", { body: { interface: told as never }, keepalive: true }));
    } catch (error) {
      const undone = Object.keys(told).map((name) => [name, before[name as keyof typeof told]]);
      this.keep({ ...this.interface, ...(Object.fromEntries(undone) as typeof told) });
      throw error;
    }
  }

  private keep(value: InterfaceSettings): void {
    this.interface = value;
    localStorage.setItem(KEY, JSON.stringify(value));
    this.paint();
  }

  private paint(): void {
    document.documentElement.dataset["theme"] = this.interface.theme;
  }
}

export const settings = new Settings();
