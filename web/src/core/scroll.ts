/**
 * Follow-scroll: stays at the end while the reader is there, and never moves under a hand.
 * The browser is asked after layout, in an animation frame.
 */

/** Within so many pixels of the end counts as being there. */
export const NEAR = 100;

export interface ScrollBox {
  scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
}

export const atEnd = (box: ScrollBox): boolean =>
  box.scrollHeight - box.clientHeight - box.scrollTop < NEAR;

export class FollowScroll {
  /** Whether new content moves the view. */
  following = true;
  private gesture = false;
  private frame = 0;
  private settle: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly box: ScrollBox,
    private readonly onChange: (following: boolean) => void = () => undefined,
    private readonly onFrame: (run: () => void) => number = (run) => requestAnimationFrame(run),
  ) {}

  /** Content grew or shrank, or the box did. */
  grown(): void {
    if (!this.following || this.gesture || this.frame) return;
    this.frame = this.onFrame(() => {
      this.frame = 0;
      if (this.following && !this.gesture) this.box.scrollTop = this.box.scrollHeight;
    });
  }

  /** The view moved, by whatever cause. Only a person's move lets go of the end. */
  scrolled(): void {
    const there = atEnd(this.box);
    if (there && !this.following) this.set(true);
    else if (!there && this.gesture) this.set(false);
  }

  /** A wheel, touch, key or scroll-bar move began or goes on; it ends when nothing came a while. */
  touched(): void {
    this.gesture = true;
    clearTimeout(this.settle);
    this.settle = setTimeout(() => this.released(), 200);
  }

  /** A pointer holds the scroll bar or a finger is down: no end until `released`. */
  held(): void {
    clearTimeout(this.settle);
    this.gesture = true;
  }

  released(): void {
    clearTimeout(this.settle);
    this.gesture = false;
    this.set(atEnd(this.box));
    this.grown();
  }

  /** The view goes to another place by itself: it does not follow the end from there. */
  left(): void {
    clearTimeout(this.settle);
    this.gesture = false;
    this.set(false);
  }

  /** Something in the view was opened or closed: what was pressed stays where it is. */
  toggled(): void {
    this.following = false;
    // The list measures what changed after the next frame.
    this.onFrame(() => this.onFrame(() => this.settled()));
  }

  private settled(): void {
    this.following = true;
    this.set(atEnd(this.box));
  }

  jump(): void {
    this.gesture = false;
    this.set(true);
    this.box.scrollTop = this.box.scrollHeight;
    this.grown();
  }

  private set(following: boolean): void {
    if (this.following === following) return;
    this.following = following;
    this.onChange(following);
  }
}
