/** The rows of all sessions, kept current while no session is open. */
import { hear, refresh } from "./facts";
import type { Link } from "./line";
import { watch, type Watching } from "./watch";

export function followRows(onLink: (link: Link) => void = () => undefined): Watching {
  let lost = false;
  return watch({
    session: "",
    place: () => ({ seq: 0, epoch: "" }),
    onFrames: (batch) => batch.forEach(({ event }) => hear(event)),
    onLink: (link) => {
      onLink(link);
      if (link === "lost" || link === "asleep") lost = true;
      if (link !== "open" || !lost) return;
      lost = false;
      refresh();
    },
    onPoll: refresh,
    onRefused: () => undefined, // a 401 has opened the sign-in view
  });
}
