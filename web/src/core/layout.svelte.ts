/** What of the frame is open. Below 760 px the sidebar is a dialog. */
import { MediaQuery } from "svelte/reactivity";

class Layout {
  sidebar = $state(false);
  /** The list of models below the message box. */
  models = $state(false);
  private readonly below = new MediaQuery("(max-width: 760px)");

  get narrow(): boolean {
    return this.below.current;
  }
}

export const layout = new Layout();
