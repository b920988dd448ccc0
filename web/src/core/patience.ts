/** What to do when the server says 429: wait as long as it asks for, a few times. */

const TRIES = 4;
const LONGEST = 10;

/** Seconds that an answer asks to wait; 0 where it does not say. */
export function retryAfter(answer: Response): number {
  const asked = Number(answer.headers.get("Retry-After"));
  return Number.isFinite(asked) && asked > 0 ? asked : 0;
}

/** The answer, asked for again while the server says 429 and names a time one can wait for. It
 * refuses before it does anything, so whatever was asked may be asked again. */
export async function patient(
  ask: () => Promise<Response>,
  pause: (ms: number) => Promise<void> = sleep,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask();
    const seconds = answer.status === 429 ? retryAfter(answer) : 0;
    if (!seconds || seconds > LONGEST || attempt >= TRIES) return answer;
    await pause(seconds * 1000);
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
