/** The hub in its SharedWorker: one for all tabs of the browser that show this build. */
import { Hub, type ToHub } from "./hub";

const hub = new Hub();
self.addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0]!;
  port.onmessage = ({ data }: MessageEvent<ToHub>) => hub.hear(port, data);
});
