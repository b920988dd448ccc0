/** What of the frame is open. Below 760 px the sidebar is a dialog. */
class Layout {
  sidebar = $state(false);
}

export const layout = new Layout();
