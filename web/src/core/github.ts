/** Issues and pull requests of projects, as the server tells them. */
import { api, ApiError, got } from "./api";
import type { components } from "./api.gen";
import type { IconName } from "./icons";

type Wire = components["schemas"];
export type Connection = Wire["Connection"];
export type Item = Wire["Item"];
export type Detail = Wire["Detail"];
export type Comment = Wire["Comment"];
export type Label = Wire["Label"];
export type Found = Wire["IssueList"];
export type Kind = "all" | "issue" | "pull_request";
export type State = "open" | "closed" | "all";

export interface Wanted {
  kind?: Kind;
  state?: State;
  search?: string;
  labels?: string;
  cursor?: string;
}

export const connection = (project: string) =>
  got(api.GET("/api/github/{project}", { params: { path: { project } } }));
export const issues = (project: string, query: Wanted) =>
  got(api.GET("/api/github/{project}/issues", { params: { path: { project }, query } }));
export const labels = (project: string) =>
  got(api.GET("/api/github/{project}/labels", { params: { path: { project } } }));
export const issue = (project: string, number: string) =>
  got(api.GET("/api/github/{project}/issues/{number}", { params: { path: { project, number } } }));
export const comments = (project: string, number: string, cursor: string) =>
  got(
    api.GET("/api/github/{project}/issues/{number}/comments", {
      params: { path: { project, number }, query: { cursor } },
    }),
  );
export const files = (project: string, number: string, cursor: string) =>
  got(
    api.GET("/api/github/{project}/pulls/{number}/files", {
      params: { path: { project, number }, query: { cursor } },
    }),
  );
export const reviews = (project: string, number: string) =>
  got(api.GET("/api/github/{project}/pulls/{number}/reviews", { params: { path: { project, number } } }));
export const checks = (project: string, number: string, sha: string) =>
  got(
    api.GET("/api/github/{project}/pulls/{number}/checks", {
      params: { path: { project, number }, query: { sha } },
    }),
  );
export const preview = (project: string, number: number) =>
  got(api.GET("/api/dispatch", { params: { query: { project, number } } }));
export const dispatch = (body: Wire["Dispatch"]) => got(api.POST("/api/dispatch", { body }));

/** The icon of a state: an issue's is round, a pull request's a branch. */
export function iconOf({ kind, state }: Pick<Item, "kind" | "state">): IconName {
  if (kind === "issue") return state === "closed" ? "issue-closed" : "issue-open";
  if (state === "merged") return "pull-merged";
  if (state === "closed") return "pull-closed";
  return state === "draft" ? "pull-draft" : "pull-open";
}

/** What is given along with a message. */
export type Chosen = Pick<Item, "number" | "kind" | "state" | "title">;
export const MOST_CHOSEN = 10;

/** Those that a search finds: each word in the title, or the beginning of the number. */
export function filtered<T extends Pick<Item, "number" | "title">>(items: readonly T[], search: string): T[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [...items];
  const fits = (one: T): boolean => {
    const title = one.title.toLowerCase();
    return words.every((word) => title.includes(word) || String(one.number).startsWith(word.replace(/^#/, "")));
  };
  return items.filter(fits);
}

/** Each number once, the highest first. */
export function merged(items: readonly Item[]): Item[] {
  const byNumber = new Map(items.map((one) => [one.number, one]));
  return [...byNumber.values()].sort((a, b) => b.number - a.number);
}

/** Which of the states of failure it is, for the words above the server's own. */
export function faultOf(error: unknown): "no-repository" | "token" | "rate" | "missing" | "unread" {
  const code = error instanceof ApiError ? error.code : "";
  if (code === "github_no_repository") return "no-repository";
  if (code === "github_token") return "token";
  if (code === "github_rate_limit") return "rate";
  return code === "github_not_found" ? "missing" : "unread";
}

/** Black or white, whichever is read better on a label's colour. */
export function inkOn(color: string): string {
  const [r = 0, g = 0, b = 0] = [0, 2, 4].map((at) => parseInt(color.slice(at, at + 2), 16) || 0);
  return (r * 299 + g * 587 + b * 114) / 1000 > 128 ? "#000000" : "#ffffff";
}
