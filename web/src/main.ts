import { mount } from "svelte";
import App from "./App.svelte";
import { auth } from "./core/auth.svelte";
import "./app.css";
import "./lists.css";
import "./code.css";

const target = document.getElementById("app");
if (!target) throw new Error("index.html has no #app");
await auth.start().catch(() => auth.refused()); // no answer: the page still opens
mount(App, { target });
