/** The rows of all sessions, kept current while no session is open. */
import { hear, refresh } from "./facts";
import { inbox } from "./inbox.svelte";
import type { Link } from "./line";
import { sessions } from "./sessions.svelte";
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
      if (link !== "open") return;
      void inbox.load(); // a line does not tell at its start what waits
      if (!lost) return;
      lost = false;
      void sessions.load();
    },
    onPoll: refresh,
    onRefused: () => undefined, // a 401 has opened the sign-in view
  });
}
