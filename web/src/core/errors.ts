import { retryAfter } from "./patience";

/** How a call of the server fails. */
export class ApiError extends Error {
  constructor(
    /** HTTP status; 0 when the server could not be reached. */
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly body: unknown = null,
    /** Seconds that the server asks to wait; 0 where it does not say. */
    readonly wait = 0,
  ) {
    super(detail);
  }
}

/** What an answer other than 2xx says. */
export async function failure(answer: Response): Promise<ApiError> {
  try {
    const body = (await answer.json()) as { code?: string; detail?: string };
    const detail = body.detail ?? `HTTP ${answer.status}`;
    return new ApiError(answer.status, body.code ?? "error", detail, body, retryAfter(answer));
  } catch {
    return new ApiError(answer.status, "error", `HTTP ${answer.status}`);
  }
}
