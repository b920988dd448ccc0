/** What a person is about to decide: which hunks, with which arguments, for how long. */
import { api, got } from "./api";
import { snapshot } from "./commands";
import { fill, type ApprovalRequest, type Detail, type Pending, type RuleScope } from "./protocol";

/** Buttons wait after they appear, so that a click meant for something else decides nothing. */
export const ARMED_AFTER = 500;

/** When the last decision was made: what lay below a card may have moved under the pointer. */
class Last {
  at = $state(0);
}
export const last = new Last();

export interface Decision {
  approved: boolean;
  feedback?: string;
  scope?: RuleScope;
  arguments?: Record<string, unknown>;
  /** Ids of the accepted hunks, where not all are. */
  hunks?: string[];
  /** Of the request as it is shown: what is approved is what was seen. */
  digest?: string;
}

/** The request as it stands afterwards: without `result` it shows more now, and waits on. */
export async function decide(session: string, id: string, made: Decision): Promise<ApprovalRequest> {
  const body = { session, id, ...made };
  const stands = await got(api.POST("/api/agent/approval", { body: body as never }));
  last.at = Date.now();
  return fill(stands) as ApprovalRequest;
}

/** What is asked for, on one line. */
export const asked = (block: Pending): string => {
  if (block.type === "ask_user") return block.question;
  return block.details.kind === "command" ? block.details.command : block.title;
};

/** The ids of all hunks that can be accepted singly; empty when there is nothing to choose. */
export function hunksOf(detail: Detail): string[] {
  if (detail.kind !== "diff") return [];
  const hunks = detail.files.flatMap((file) => file.hunks ?? []);
  const ids = hunks.map((hunk) => hunk.id ?? "").filter(Boolean);
  return ids.length > 1 ? ids : [];
}

/** The arguments of the call that a request is about, as they stand. */
export async function argumentsOf(
  session: string,
  block: ApprovalRequest,
): Promise<Record<string, unknown>> {
  if (block.arguments) return block.arguments;
  const { blocks } = await snapshot(session, block.pos);
  const call = blocks.find((one) => one.id === block.call);
  if (call?.type !== "tool") throw new Error(`The call ${block.call} is not in the transcript.`);
  return call.arguments;
}
