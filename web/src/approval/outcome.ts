import { t } from "../core/i18n.svelte";
import type { ApprovalRequest } from "../core/protocol";

/** How a request was decided, and by whom when that was not the reader. */
export function outcome(block: ApprovalRequest): string {
  const by = block.decided_by;
  if (by === "stop") return t("approval.stopped");
  if (by === "moved_on") return t("approval.moved-on");
  if (by === "cut_off") return t("approval.cut-off");
  const [some, all] = [block.hunks?.length, countHunks(block)];
  const done = block.result
    ? some === undefined
      ? t("approval.approved")
      : t("approval.approved-some", { n: some, of: all })
    : t("approval.denied");
  if (by === "rule" || by === "bypass") return `${done} ${t(`approval.by.${by}`)}`;
  return done;
}

const countHunks = ({ details }: ApprovalRequest): number =>
  details.kind === "diff" ? details.files.reduce((n, file) => n + (file.hunks?.length ?? 0), 0) : 0;
