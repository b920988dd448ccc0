/**
 * Sign-in: the one-time token of the printed URL's fragment becomes an HttpOnly cookie and a
 * header token; every `/api` call needs both.
 */
import { failure } from "./errors";

const KEY = "shipmate.token";

class Auth {
  /** False after a 401; the sign-in view is shown over the page, which keeps its drafts. */
  signedIn = $state(true);
  /** The header token; empty before the first sign-in. */
  token = localStorage.getItem(KEY) ?? "";

  /** Somebody was signed in here, and may have typed something. */
  was = this.token !== "";

  constructor() {
    addEventListener("storage", ({ key, newValue }) => {
      if (key === KEY) this.elsewhere(newValue ?? "");
    });
  }

  headers(): Record<string, string> {
    return this.token ? { "X-Shipmate-Token": this.token } : {};
  }

  /**
   * Called by every reader of an answer with status 401; all other tabs hear of it, too. True:
   * another tab has signed in meanwhile, and the call can be made again.
   */
  refused(): boolean {
    const kept = localStorage.getItem(KEY) ?? "";
    if (kept && kept !== this.token) this.elsewhere(kept);
    else this.forget();
    return this.signedIn;
  }

  /** Another tab signed in, or was refused. */
  private elsewhere(token: string): void {
    this.token = token;
    this.signedIn = token !== "";
    this.was ||= this.signedIn;
  }

  /** Exchanges a one-time token. False: it was used before, or is wrong. */
  async exchange(token: string): Promise<boolean> {
    return (await this.trade("/api/auth/exchange", { token })).ok;
  }

  /** Signs in with a user's name and password; an `ApiError` in the server's words. */
  async signIn(name: string, password: string): Promise<void> {
    const answer = await this.trade("/api/auth/sign-in", { name, password });
    if (!answer.ok) throw await failure(answer);
  }

  /** Whether there are users who sign in with a password. */
  async hasPasswords(): Promise<boolean> {
    const answer = await fetch("/api/auth/ways");
    return answer.ok && ((await answer.json()) as { password: boolean }).password;
  }

  /** After a sign-out, in all tabs. */
  forget(): void {
    localStorage.removeItem(KEY);
    this.elsewhere("");
  }

  private async trade(path: string, body: object): Promise<Response> {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) return answer;
    this.token = ((await answer.json()) as { token: string }).token;
    localStorage.setItem(KEY, this.token);
    this.signedIn = this.was = true;
    return answer;
  }

  /** At start: uses the fragment `#token=…` and takes it out of the address and the history. */
  async start(): Promise<void> {
    const token = tokenOf(location.hash);
    if (!token) return;
    history.replaceState(null, "", location.pathname + location.search);
    if (!(await this.exchange(token)) && !this.token) this.signedIn = false;
  }
}

/** The one-time token in a pasted URL, a fragment or plain text; empty when there is none. */
export function tokenOf(text: string): string {
  const named = /[#&?]token=([\w.~-]+)/.exec(text);
  if (named) return named[1] ?? "";
  return /^[\w.~-]{16,}$/.test(text.trim()) ? text.trim() : "";
}

export const auth = new Auth();
