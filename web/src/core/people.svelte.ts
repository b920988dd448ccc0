/** Who is signed in here, the users, and the tokens of programs. */
import { api, got } from "./api";
import type { components } from "./api.gen";
import { auth } from "./auth.svelte";
import { dropDrafts } from "./drafts";

type Wire = components["schemas"];
export type Me = Wire["Me"];
export type User = Wire["UserRow"];
export type Role = User["role"];
export type Token = Wire["TokenRow"];
export type SignIn = Wire["SignInRow"];
export type Entry = Wire["Entry"];
export type Verified = Wire["Verified"];
export const ROLES: readonly Role[] = ["admin", "user", "viewer"];
export const SCOPES = ["read", "run", "approve", "admin"] as const;

class Self {
  me = $state.raw<Me | null>(null);
  readonly admin = $derived(this.me?.scopes.includes("admin") ?? false);

  async load(): Promise<void> {
    this.me = await got(api.GET("/api/auth/me"));
  }

  async changePassword(old: string, fresh: string): Promise<void> {
    await got(api.POST("/api/auth/password", { body: { old, new: fresh } }));
  }

  /** This browser forgets who it was, and what was typed in it. */
  async signOut(): Promise<void> {
    await got(api.POST("/api/auth/sign-out"));
    dropDrafts();
    auth.forget();
    location.reload();
  }
}
export const self = new Self();

export const people = {
  all: async (): Promise<User[]> => (await got(api.GET("/api/users"))).users,
  add: (name: string, role: Role, password: string) =>
    got(api.POST("/api/users", { body: { name, role, password } })),
  change: (name: string, body: { role?: Role; disabled?: boolean; password?: string }) =>
    got(api.PATCH("/api/users/{name}", { params: { path: { name } }, body })),
  remove: (name: string) => got(api.DELETE("/api/users/{name}", { params: { path: { name } } })),
};

export const tokens = {
  all: async (): Promise<readonly Token[]> => (await got(api.GET("/api/auth/tokens"))).tokens,
  /** Its secret is in this answer only. */
  make: (name: string, scopes: string[]): Promise<Token> =>
    got(api.POST("/api/auth/tokens", { body: { name, scopes } })),
  revoke: (token: string) =>
    got(api.DELETE("/api/auth/tokens/{token}", { params: { path: { token } } })),
};

export const signIns = {
  all: async (): Promise<readonly SignIn[]> => (await got(api.GET("/api/auth/sign-ins"))).sign_ins,
  end: (one: string) =>
    got(api.DELETE("/api/auth/sign-ins/{sign_in}", { params: { path: { sign_in: one } } })),
};

export const audit = {
  /** The newest first; with `before` those with a lower number. */
  lines: async (query: { limit: number; before: number; event: string; who: string }) =>
    (await got(api.GET("/api/audit", { params: { query } }))).entries,
  verify: (): Promise<Verified> => got(api.GET("/api/audit/verify")),
};
