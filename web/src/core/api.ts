/** Calls to the server. Every failure is an `ApiError` with the server's own words. */
import createClient from "openapi-fetch";
import type { paths } from "./api.gen";
import { auth } from "./auth.svelte";
import { ApiError, failure } from "./errors";
import { patient } from "./patience";

export { ApiError };

/** Our own fetch: both tokens, and an `ApiError` for every answer but 2xx. */
async function fetchOwn(request: Request): Promise<Response> {
  for (const [name, value] of Object.entries(auth.headers())) request.headers.set(name, value);
  let answer: Response;
  try {
    answer = await patient(() => fetch(request.clone()));
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", (error as Error).message);
  }
  if (answer.ok) return answer;
  if (answer.status === 401) auth.refused();
  throw await failure(answer);
}

/** The server's endpoints, typed by its OpenAPI document. Use with `got`. */
export const api = createClient<paths>({ baseUrl: location.origin, fetch: fetchOwn });

/** The answer of a call of `api`. */
export async function got<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** An answer that is read piece by piece. */
export function call(
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
  init: RequestInit = {},
): Promise<Response> {
  const given = body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_BODY };
  return fetchOwn(new Request(new URL(path, location.origin), { ...init, method, ...given }));
}
const JSON_BODY = { "Content-Type": "application/json" };
