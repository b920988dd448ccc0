/** The rows of all sessions, kept current while no session is open. */
import { Follower, type Link } from "./follow";
import { sessions } from "./sessions.svelte";

export function followRows(onLink: (link: Link) => void = () => undefined): Follower {
  let lost = false;
  return new Follower({
    path: () => "/api/agent/events?rows=true",
    onFrames: (batch) => batch.forEach(({ event }) => sessions.heard(event)),
    onLink: (link) => {
      onLink(link);
      if (link === "lost" || link === "asleep") lost = true;
      if (link !== "open" || !lost) return;
      lost = false;
      void sessions.load();
    },
    onPoll: () => void sessions.load(),
    onRefused: () => undefined, // a 401 has opened the sign-in view
  });
}
