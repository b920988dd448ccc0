/** What of the frame is open. Below 760 px the sidebar is a dialog. */
import { MediaQuery } from "svelte/reactivity";

export type DrawerTab = "changes" | "files" | "todo";

class Layout {
  sidebar = $state(false);
  /** What the drawer beside a conversation shows; empty: it is closed. */
  drawer = $state<DrawerTab | "">("");
  /** The list of models below the message box. */
  models = $state(false);
  private readonly below = new MediaQuery("(max-width: 760px)");

  get narrow(): boolean {
    return this.below.current;
  }
}

export const layout = new Layout();
