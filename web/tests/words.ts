/** Before each file of tests: the words of both languages are here, as after the start. */
import { speak } from "../src/core/i18n.svelte";

await speak("zh-CN");
await speak("en");
