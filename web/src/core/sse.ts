/** Reading an event stream over fetch, which unlike EventSource can carry a header token. */
import { createParser } from "eventsource-parser";
import { fill, type Event } from "./protocol";

export interface Frame {
  /** `<epoch>-<seq>` of a kept event; empty for the others. */
  id: string;
  event: Event;
}

/** Feeds decoded text; gives the frames it completed. What is not JSON of ours is left out. */
export class FrameReader {
  private out: Frame[] = [];
  private parser = createParser({
    onEvent: ({ id, data }) => {
      const event = fill(parsed(data));
      if (event) this.out.push({ id: id ?? "", event });
    },
  });

  feed(text: string): Frame[] {
    this.out = [];
    this.parser.feed(text);
    return this.out;
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}

/** The frames of an answer's body, as many at once as one read brought. */
export async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame[], void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new FrameReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield parser.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => undefined); // the connection may already be broken
  }
}

/** `<epoch>-<seq>`; null for an id that is not one of ours. */
export function parseId(id: string): { epoch: string; seq: number } | null {
  const cut = id.lastIndexOf("-");
  const seq = Number(id.slice(cut + 1));
  return cut > 0 && Number.isSafeInteger(seq) ? { epoch: id.slice(0, cut), seq } : null;
}
