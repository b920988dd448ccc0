/** A server of event streams: each fetch is a line that the test speaks on. */
import { vi } from "vitest";

export interface Spoken {
  path: string;
  say: (text: string) => void;
  cut: () => void;
  gone: () => boolean;
  headers: Headers;
}

export interface Board {
  lines: Spoken[];
  /** Statuses of the next answers; 200 when there is none. */
  status: number[];
}

export function switchboard(): Board {
  const board: Board = { lines: [], status: [] };
  vi.stubGlobal("fetch", (input: Request | string, init: RequestInit = {}) => {
    const request = typeof input === "string" ? new Request(`http://localhost${input}`, init) : input;
    const signal = init.signal ?? request.signal;
    const status = board.status.shift() ?? 200;
    if (status !== 200) return Promise.resolve(new Response("{}", { status }));
    let control!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (c) => void (control = c) });
    signal.addEventListener("abort", () => {
      try {
        control.error(new DOMException("aborted", "AbortError"));
      } catch {
        // it had ended already
      }
    });
    board.lines.push({
      path: request.url,
      headers: request.headers,
      say: (text) => control.enqueue(new TextEncoder().encode(text)),
      gone: () => signal.aborted,
      cut: () => control.error(new TypeError("network")),
    });
    return Promise.resolve(new Response(body));
  });
  return board;
}
