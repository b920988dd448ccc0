import { expect, test } from "vitest";
import { failure } from "../src/core/errors";
import { patient } from "../src/core/patience";

const busy = (after: string): Response =>
  new Response('{"code":"too_many","detail":"Too many."}', {
    status: 429,
    headers: after ? { "Retry-After": after } : {},
  });

async function asked(answers: Response[]): Promise<{ status: number; waits: number[] }> {
  const waits: number[] = [];
  const answer = await patient(
    () => Promise.resolve(answers.shift()!),
    (ms) => Promise.resolve(void waits.push(ms)),
  );
  return { status: answer.status, waits };
}

test("what the server has no time for is asked again when it says so", async () => {
  const answers = [busy("2"), busy("3"), new Response("{}")];
  expect(await asked(answers)).toEqual({ status: 200, waits: [2000, 3000] });
});

test("a wait that is not named, too long, or the fourth, is a refusal", async () => {
  expect(await asked([busy("")])).toEqual({ status: 429, waits: [] });
  expect(await asked([busy("60")])).toEqual({ status: 429, waits: [] });
  const { status, waits } = await asked(Array.from({ length: 9 }, () => busy("1")));
  expect([status, waits.length]).toEqual([429, 3]);
});

test("a refusal says how long to wait", async () => {
  expect((await failure(busy("5"))).wait).toBe(5);
});
