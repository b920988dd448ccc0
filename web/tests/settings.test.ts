import { expect, test, vi } from "vitest";
import { settings } from "../src/core/settings.svelte";

test("what the server refuses is undone, and nothing that was chosen since", async () => {
  let refuse = (): void => undefined;
  const cut = new Promise<Response>((_, reject) => (refuse = () => reject(new TypeError("cut"))));
  vi.stubGlobal("fetch", () => cut);
  const told = settings.change({ language: "zh-CN" });
  await settings.change({ theme: "dark" });
  expect(settings.interface).toMatchObject({ language: "zh-CN", theme: "dark" });
  refuse();
  await expect(told).rejects.toThrow();
  expect(settings.interface).toMatchObject({ language: "auto", theme: "dark" });
  vi.unstubAllGlobals();
});
