/** Highlighting off the main thread: code in, lines of (class, text) pairs out. */
import hljs from "highlight.js/lib/common";
import { toLines } from "./highlight-lines";

export interface Ask {
  id: number;
  code: string;
  lang: string;
}

self.onmessage = ({ data }: MessageEvent<Ask>) => {
  const language = hljs.getLanguage(data.lang) ? data.lang : "";
  const lines = language
    ? toLines(hljs.highlight(data.code, { language, ignoreIllegals: true }).value)
    : null;
  self.postMessage({ id: data.id, lines });
};
