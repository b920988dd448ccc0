"""May a file be read? Free in the project, secret-shaped files ask (readings 19)."""

from collections.abc import Sequence
from dataclasses import replace

from shipmate.safety.verdict import ALLOW, Level, Subject, Verdict
from shipmate.tools.files import decide, path_verdict
from shipmate.tools.listing import near_names_told
from shipmate.tools.reading import shown_name
from shipmate.tools.tool import ToolError, Workspace


def judge_read(work: Workspace, path: str) -> Verdict:
    """Allowed in the project; secret-shaped files ask; outside of it is refused."""
    decision = decide(work, path, "read")
    if decision.fault == "folder":
        raise ToolError(f"{decision.reason} Look into it with list_files.")
    with near_names_told(work, path):
        verdict = path_verdict(decision)
    if verdict.level is Level.ALLOW:
        return replace(verdict, touches=(Subject("read", decision.relative),))
    if verdict.level is Level.REFUSE:
        return verdict
    title = f"Read {shown_name(decision.relative)}"
    subjects = (Subject("read", decision.relative),)
    return Verdict(
        verdict.level,
        verdict.reason,
        "secret",
        title,
        binds={str(decision.real): ""},
        touches=subjects,
        covers=subjects,
    )


def judge_reads(work: Workspace, paths: Sequence[str]) -> Verdict:
    """The strictest verdict; a path that is wrong or refused has its own section, unless all
    are refused."""
    verdicts: list[Verdict] = []
    for path in paths:
        try:
            verdicts.append(judge_read(work, path))
        except ToolError:
            continue  # said in its section
    refused = [v for v in verdicts if v.level is Level.REFUSE]
    if refused and len(refused) == len(paths):
        return refused[0]
    asking = [v for v in verdicts if v.level in {Level.ASK, Level.DANGER}]
    touches = tuple(subject for v in verdicts for subject in v.touches)
    if not asking:
        return replace(ALLOW, touches=touches)
    binds = {path: content for v in asking for path, content in v.binds.items()}
    worst = max(asking, key=lambda v: v.level)
    title = worst.title if len(asking) == 1 else f"Read {len(asking)} files that may hold secrets"
    reason = "; ".join(dict.fromkeys(v.reason for v in asking))
    covers = tuple(subject for v in asking for subject in v.covers)
    return Verdict(
        worst.level, reason, worst.rule, title, binds=binds, touches=touches, covers=covers
    )
