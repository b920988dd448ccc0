import { mount } from "svelte";
import App from "./App.svelte";
import { auth } from "./core/auth.svelte";
import { speak, wanted } from "./core/i18n.svelte";
import "./app.css";
import "./lists.css";
import "./code.css";

const target = document.getElementById("app");
if (!target) throw new Error("index.html has no #app");
try {
  await Promise.all([
    speak(wanted()),
    auth.start().catch(() => auth.refused()), // no answer: the page still opens
  ]);
  mount(App, { target });
} catch (error) {
  // Without words there is no page, and these are the only ones
  target.textContent = `shipmate could not be loaded (${(error as Error).message}). Reload the page.`;
}
