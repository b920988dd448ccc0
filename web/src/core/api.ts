/** Calls to the server. Every failure is an `ApiError` with the server's own words. */
import { auth } from "./auth.svelte";

export class ApiError extends Error {
  constructor(
    /** HTTP status; 0 when the server could not be reached. */
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly body: unknown = null,
  ) {
    super(detail);
  }
}

export type Method = "GET" | "POST" | "PATCH" | "DELETE" | "PUT";

/** The raw answer of one call; throws `ApiError` for any status but 2xx. */
export async function call(
  method: Method,
  path: string,
  body?: unknown,
  init: RequestInit = {},
): Promise<Response> {
  const headers: Record<string, string> = { ...auth.headers(), ...(init.headers as object) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(path, {
      ...init,
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", (error as Error).message);
  }
  if (answer.ok) return answer;
  if (answer.status === 401) auth.refused();
  throw await failure(answer);
}

async function failure(answer: Response): Promise<ApiError> {
  try {
    const body = (await answer.json()) as { code?: string; detail?: string };
    const detail = body.detail ?? `HTTP ${answer.status}`;
    return new ApiError(answer.status, body.code ?? "error", detail, body);
  } catch {
    return new ApiError(answer.status, "error", `HTTP ${answer.status}`);
  }
}

async function json<T>(answer: Promise<Response>): Promise<T> {
  const text = await (await answer).text();
  return (text ? JSON.parse(text) : null) as T;
}

export const get = <T>(path: string): Promise<T> => json<T>(call("GET", path));
export const post = <T>(path: string, body: unknown = {}): Promise<T> =>
  json<T>(call("POST", path, body));
export const patch = <T>(path: string, body: unknown): Promise<T> =>
  json<T>(call("PATCH", path, body));
export const remove = <T>(path: string): Promise<T> => json<T>(call("DELETE", path));

/** `/api/agent/sessions/<id>` with the id escaped. */
export const sessionPath = (id: string): string => `/api/agent/sessions/${encodeURIComponent(id)}`;
