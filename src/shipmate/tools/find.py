"""The tool `file_search`: files by name."""

import asyncio
import os
from dataclasses import dataclass, field, replace

from shipmate.protocol import MatchesDetail
from shipmate.safety.verdict import Verdict
from shipmate.tools.globs import has_magic, names_dot
from shipmate.tools.reading import shown_name
from shipmate.tools.ripgrep import SECONDS, Ended, Search, run
from shipmate.tools.scope import Scope, judge_scope, scope_of
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, Workspace, tool

MOST = 200
"""Results that one call may ask for."""


@dataclass(slots=True)
class _Found:
    scope: Scope
    most: int
    paths: list[str] = field(default_factory=list[str])
    count: int = 0
    looked_at: int = 0

    def take(self, line: bytes) -> bool:
        path = os.fsdecode(line).removeprefix("./")
        if not path:
            return True
        self.looked_at += 1
        if self.scope.holds is None or self.scope.holds(path):
            self.count += 1
            if len(self.paths) < self.most:
                self.paths.append(path)
        return True


async def _by_query(ctx: ToolContext, query: str, **_others: object) -> Verdict:
    return await asyncio.to_thread(judge_scope, ctx.work, query)


@tool(
    provider="read_only",
    judge=_by_query,
    effect=False,
    example='{"query": "src/**/*.py"}',
)
async def file_search(ctx: ToolContext, query: str, max_results: int = 20) -> ToolOutput:
    """Find files by a glob: `*.py`, `src/**/*.{ts,tsx}`, `**/test_*`; gives their paths.

    A pattern that does not begin with `/` matches in any folder. Left out is what .gitignore
    hides, and files whose name or folder begins with a dot unless the pattern names the dot.
    maxResults is 200 at most.
    """
    if not query.strip():
        raise ToolError("`query` is empty; write a glob such as `**/*.py`.")
    most = min(max(max_results, 1), MOST)
    scope = await asyncio.to_thread(scope_of, ctx.work, query)
    dots = names_dot(query)
    found = _Found(scope, most)
    search = scope.narrow(replace(Search.of(ctx.work), dots=dots))
    ended = await run(search, found.take, separator=b"\0")
    if not found.count and not ended.late and not has_magic(query):
        return await _like(ctx.work, query, most, dots)
    return _told(found, ended, query, dots)


async def _like(work: Workspace, query: str, most: int, dots: bool) -> ToolOutput:
    """Nothing has just this name: what has it in its path, whatever the case."""
    wanted = query.strip("/").lower()
    found = _Found(Scope(holds=lambda path: wanted in path.lower()), most)
    ended = await run(replace(Search.of(work), dots=dots), found.take, separator=b"\0")
    output = _told(found, ended, query, dots)
    if not found.count:
        return output
    note = f"[No file is called {query!r}; these have it in their path]"
    return replace(output, text=f"{note}\n{output.text}")


def _told(found: _Found, ended: Ended, query: str, dots: bool) -> ToolOutput:
    notes = problems(ended)
    if not found.count:
        rules = "what .gitignore hides" + ("" if dots else ", and names that begin with a dot")
        text = f"No file matches {query!r} among {found.looked_at:,} files. Not looked at: {rules}."
        return ToolOutput(notes + text, details=MatchesDetail(count=0, what="files"))
    more = found.count > len(found.paths)
    if more:
        notes += (
            f"[{len(found.paths)} of {found.count:,} files; raise maxResults ({MOST} at most) or"
            " use a narrower pattern]\n"
        )
    text = notes + "\n".join(shown_name(path) for path in found.paths)
    details = MatchesDetail(count=found.count, what="files", more=more)
    return ToolOutput(text, details=details, truncated=more or ended.late)


def problems(ended: Ended) -> str:
    """What could not be looked at, and whether the search was ended early: notes in front."""
    notes = ""
    if ended.late:
        notes = f"[Ended after {SECONDS} s: only a part was looked at; use a narrower search]\n"
    lines = [line.removeprefix("rg: ").removeprefix("./") for line in ended.said.split("\n")]
    lines = [line for line in lines if line.strip()]
    if lines and ended.status == 2:
        notes += f"[Could not look at {len(lines)}: {'; '.join(lines[:5])}]\n"
    return notes
