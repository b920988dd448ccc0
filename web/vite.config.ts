/** Builds the page into the Python package; `npm run dev` proxies to a running server. */
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const shipmate = process.env["SHIPMATE_URL"] ?? "http://127.0.0.1:8765";

export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/shipmate/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  worker: { format: "es" },
  server: {
    // The server answers to its own Host and Origin only.
    proxy: { "/api": { target: shipmate, changeOrigin: true, headers: { origin: shipmate } } },
  },
  test: {
    environment: "happy-dom",
    include: ["tests/**/*.test.ts"],
    setupFiles: ["tests/words.ts"],
  },
  // Without this, vitest resolves Svelte's server build.
  ...(process.env["VITEST"] ? { resolve: { conditions: ["browser"] } } : {}),
});
