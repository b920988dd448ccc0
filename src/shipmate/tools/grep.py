"""The tool `grep_search`: lines by what is in them."""

import asyncio
import base64
import os
from dataclasses import dataclass, field, replace

import msgspec
from msgspec import Struct

from shipmate.protocol import MatchesDetail
from shipmate.safety.verdict import Verdict
from shipmate.tools.arguments import requiring
from shipmate.tools.decode import decode_head, decode_line
from shipmate.tools.files import check_regular, opened, read_descriptor
from shipmate.tools.find import MOST, problems
from shipmate.tools.output import cut
from shipmate.tools.reading import shown_name, visible
from shipmate.tools.ripgrep import Ended, Search, run
from shipmate.tools.scope import Scope, is_secret, judge_scope, scope_of, secret_start
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, Workspace, tool

_COUNTED = 2_000
"""Matching lines after which a search ends: the answer then says `more than`."""
_LINE_CHARS = 240
"""What is shown of a matching line: the place of the match."""
_META = frozenset(".^$*+?()[]{}|\\")


class _Bytes(Struct, frozen=True):
    """Text, or base64 of what is not UTF-8."""

    text: str = ""
    bytes: str = ""

    def raw(self) -> "bytes":
        return base64.b64decode(self.bytes) if self.bytes else self.text.encode()


class _Place(Struct, frozen=True):
    start: int
    end: int


class _Stats(Struct, frozen=True):
    searches: int = 0


class _Data(Struct, frozen=True):
    path: _Bytes = _Bytes()
    lines: _Bytes = _Bytes()
    line_number: int | None = None
    submatches: tuple[_Place, ...] = ()
    stats: _Stats = _Stats()


class _Message(Struct, frozen=True):
    type: str
    data: _Data


_decode = msgspec.json.Decoder(_Message).decode


@dataclass(frozen=True, slots=True)
class Hit:
    path: str
    line: int
    text: str
    """As shown: cut around the match."""


@dataclass(slots=True)
class _Hits:
    """What a search has found so far. Files that may hold secrets count for nothing, so that
    no answer depends on what is in them."""

    work: Workspace
    scope: Scope
    most: int
    hits: list[Hit] = field(default_factory=list[Hit])
    count: int = 0
    files: dict[str, bool] = field(default_factory=dict[str, bool])
    """Files with matches, and whether they belong to what is searched."""
    searched: int = 0
    unread: int = 0
    """Matches in lines too long to be passed on."""
    encoding: str = ""
    """Only files in this encoding count."""

    def take(self, line: bytes) -> bool:
        if not line.startswith((b'{"type":"match"', b'{"data":{"elapsed_total"', b'{"type":"su')):
            return True
        try:
            message = _decode(line)
        except msgspec.DecodeError:
            self.unread += 1
            return True
        if message.type == "summary":
            self.searched += message.data.stats.searches
        elif self._holds(path := os.fsdecode(message.data.path.raw()).removeprefix("./")):
            self.count += 1
            if len(self.hits) < self.most:
                self.hits.append(_hit(path, message.data))
        return self.count <= _COUNTED

    def _holds(self, path: str) -> bool:
        if path not in self.files:
            inside = self.scope.holds is None or self.scope.holds(path)
            self.files[path] = inside and not is_secret(self.work, path) and self._encoded(path)
        return self.files[path]

    def _encoded(self, path: str) -> bool:
        if not self.encoding:
            return True
        try:
            with opened(self.work.root, path, os.O_RDONLY) as descriptor:
                check_regular(descriptor, path)
                found = decode_head(read_descriptor(descriptor, 65_536))
        except (OSError, ToolError):
            return False
        return found is not None and found.encoding == self.encoding


async def _by_pattern(ctx: ToolContext, include_pattern: str, **_others: object) -> Verdict:
    return await asyncio.to_thread(judge_scope, ctx.work, include_pattern)


@requiring("isRegexp")
@tool(
    provider="read_only",
    judge=_by_pattern,
    effect=False,
    example='{"query": "def load_\\\\w+", "isRegexp": true, "includePattern": "src/**/*.py"}',
)
async def grep_search(  # noqa: PLR0913, PLR0917 - the parameters models know it by
    ctx: ToolContext,
    query: str,
    is_regexp: bool = False,
    include_pattern: str = "",
    max_results: int = 20,
    include_ignored_files: bool = False,
    case_sensitive: bool = False,
) -> ToolOutput:
    """Find lines in the project's files: `path:line: text`, in the order of the paths.

    isRegexp says whether query is a regular expression (Rust syntax, no look-around) or plain
    text. includePattern is a glob, a folder or a file. Left out are files that .gitignore
    hides (unless includeIgnoredFiles), binary files, and files that may hold secrets.
    maxResults is 200 at most.
    """
    if not query:
        raise ToolError("`query` is empty; write what to look for.")
    scope = await asyncio.to_thread(scope_of, ctx.work, include_pattern)
    if reason := secret_start(ctx.work, scope):
        raise ToolError(reason)
    search = replace(
        scope.narrow(Search.of(ctx.work)),
        query=query,
        regexp=is_regexp,
        case_sensitive=case_sensitive,
        ignored=include_ignored_files,
    )
    most = min(max(max_results, 1), MOST)
    found, ended = await _look(ctx.work, scope, search, most)
    note = ""
    if not found.count and not ended.late and _META.intersection(query):
        other = replace(search, regexp=not search.regexp)
        as_other, other_ended = await _look(ctx.work, scope, other, most)
        note = _tried(search, ended, found_other=bool(as_other.count))
        if as_other.count or _invalid(ended):
            found, ended = as_other, other_ended
    return _told(found, ended, search, note)


async def _look(work: Workspace, scope: Scope, search: Search, most: int) -> tuple[_Hits, Ended]:
    """Reading and searching share one decoder: what is not in ASCII is looked for in files in
    GB 18030 as well (UTF-16 with a BOM is ripgrep's own)."""
    found = _Hits(work, scope, most)
    ended = await run(search, found.take)
    if not (search.query or "").isascii() and not ended.late and found.count <= _COUNTED:
        known = {path: False for path, holds in found.files.items() if holds}
        more = _Hits(work, scope, most - len(found.hits), files=known, encoding="gb18030")
        again = await run(replace(search, encoding="gb18030"), more.take)
        found.hits = sorted(found.hits + more.hits, key=lambda hit: (hit.path.split("/"), hit.line))
        found.count += more.count
        found.files |= {path: True for path, holds in more.files.items() if holds}
        ended = replace(ended, late=again.late)
    return found, ended


def _hit(path: str, data: _Data) -> Hit:
    raw = data.lines.raw()
    first = data.submatches[0] if data.submatches else _Place(0, 0)
    before = len(decode_line(raw[: first.start]))
    return Hit(path, data.line_number or 0, _around(decode_line(raw), before))


def _around(line: str, before: int) -> str:
    """The line, or what stands around the match with its column, counted from 1."""
    line = line.rstrip("\r\n").replace("\n", "\u240a")
    if len(line) <= _LINE_CHARS:
        return visible(line)
    start = max(min(before - _LINE_CHARS // 3, len(line) - _LINE_CHARS), 0)
    shown = visible(cut(line[start:], _LINE_CHARS))
    left, right = "..." if start else "", "..." if start + len(shown) < len(line) else ""
    return f"[column {before + 1} of {len(line)}] {left}{shown}{right}"


def _invalid(ended: Ended) -> bool:
    return ended.status == 2 and "regex" in ended.said and "error" in ended.said


def _tried(search: Search, ended: Ended, *, found_other: bool) -> str:
    """What is said when one reading of the query found nothing and the other one was tried."""
    if _invalid(ended):
        reason = ended.said.strip().rsplit("\n", 1)[-1].removeprefix("rg: ").strip()
        return f"[Not a valid regular expression ({reason}); searched as plain text]\n"
    if not found_other:
        return ""
    if search.regexp:
        return "[Nothing matches as a regular expression; these match as plain text]\n"
    return "[Nothing matches as plain text; these match as a regular expression]\n"


def _told(found: _Hits, ended: Ended, search: Search, note: str) -> ToolOutput:
    notes = note + problems(replace(ended, said="") if _invalid(ended) else ended)
    if found.unread:
        notes += f"[{found.unread} matches are in lines too long to be shown]\n"
    if not found.count:
        text = f"No match for {visible(search.query or '')!r}" + _where(found, search)
        return ToolOutput(notes + text, details=MatchesDetail(count=0, what="hits"))
    more = found.count > len(found.hits)
    if more:
        notes += _counted(found)
    lines = [f"{shown_name(hit.path)}:{hit.line}: {hit.text}" for hit in found.hits]
    details = MatchesDetail(count=found.count, what="hits", more=more)
    return ToolOutput(notes + "\n".join(lines), details=details, truncated=more or ended.late)


def _where(found: _Hits, search: Search) -> str:
    if not found.searched:
        return ": no file was searched, as none belongs to what includePattern names."
    left_out = [] if search.ignored else ["what .gitignore hides (includeIgnoredFiles)"]
    left_out += ["files that may hold secrets"] if found.work.ask_secrets else []
    rules = f" Not searched: binary files{''.join(f', {rule}' for rule in left_out)}."
    return f" in {found.searched:,} files.{rules}"


def _counted(found: _Hits) -> str:
    total = f"{found.count:,}" if found.count <= _COUNTED else f"more than {_COUNTED:,}"
    files = sum(found.files.values())
    return (
        f"[{len(found.hits)} of {total} matching lines in {files:,} files; raise maxResults"
        f" ({MOST} at most), or narrow the search with includePattern or a longer query]\n"
    )
