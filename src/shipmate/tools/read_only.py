"""Provider `read_only`: look at the project. Inside it no approval is needed (readings 19)."""

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from shipmate.protocol import MatchesDetail
from shipmate.safety.verdict import ALLOW, Verdict
from shipmate.tools.find import file_search
from shipmate.tools.grep import grep_search
from shipmate.tools.listing import list_files, near_names_told
from shipmate.tools.output import SPILL, spill_file
from shipmate.tools.pictures import view_image
from shipmate.tools.read_verdict import judge_read, judge_reads
from shipmate.tools.reading import Content, Part, Span, content_of, load, part, shown_name
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, Workspace, tool

_MOST_FILES = 50
_HEADER_CHARS = 600
"""Room for what is said around the text of a file."""
_FRAME = re.compile(r"(^|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])(--- FILE: )")


class FileLines(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    path: str
    start_line: int = 1
    end_line: int = -1


async def _by_path(ctx: ToolContext, path: str, **_others: int) -> Verdict:
    if path.startswith(SPILL):
        return ALLOW
    return await asyncio.to_thread(judge_read, ctx.work, path)


async def _by_paths(ctx: ToolContext, files: Sequence[FileLines]) -> Verdict:
    return await asyncio.to_thread(judge_reads, ctx.work, [file.path for file in files])


@tool(
    provider="read_only",
    judge=_by_path,
    effect=False,
    example='{"path": "src/app.py", "startLine": 1, "endLine": 80}',
)
async def read_file(
    ctx: ToolContext,
    path: str,
    start_line: int = 1,
    end_line: int = -1,
    start_column: int = 0,
) -> ToolOutput:
    """Read a text file of the project, whole or the lines from startLine to endLine.

    Lines count from 1, both ends belong to it, endLine -1 is the end of the file. When only a
    part is given, a first line says which, and where to go on. startColumn reads on in a very
    long line. The path `output:<id>` is the whole text of an earlier result that was cut.
    """
    span = Span.of(start_line, end_line, start_column)
    content = await asyncio.to_thread(_load, ctx.work, path, span)
    if content.instead:
        return ToolOutput(content.instead)
    room = ctx.work.limits.tool_result_chars - _HEADER_CHARS
    shown = part(content, span, max(room, 200))
    if not path.startswith(SPILL) and (advice := _too_often(ctx.work, content, [shown])):
        return ToolOutput(advice)
    return _output(_headed(content, span, shown), shown)


@tool(
    provider="read_only",
    judge=_by_paths,
    effect=False,
    example='{"files": [{"path": "src/app.py"}, {"path": "README.md", "endLine": 40}]}',
)
async def read_files(ctx: ToolContext, files: tuple[FileLines, ...]) -> ToolOutput:
    """Read several files at once, each under a line `--- FILE: path ---`.

    Better than several calls of read_file. At most 10 KB of each file are given, less when
    there are many; where a file is cut, the next startLine is named.
    """
    if not files:
        raise ToolError("`files` is empty; name at least one file.")
    asked = files[:_MOST_FILES]
    sections = await asyncio.to_thread(_sections, ctx.work, asked)
    _guard_sections(ctx.work, sections)
    limits = ctx.work.limits
    room = max(limits.tool_result_chars - 200, 400) // len(sections) * len(sections)
    wanted = [s.render(room, limits.read_files_bytes) for s in sections]
    shares = _shares([len(text) for text in wanted], room)
    texts = [
        text if len(text) <= share else s.render(share, limits.read_files_bytes)
        for s, text, share in zip(sections, wanted, shares, strict=True)
    ]
    texts += [f"--- FILE: {shown_name(f.path)} ---\n{_LATER}" for f in files[_MOST_FILES:]]
    given = sum(1 for s in sections if s.content and not s.content.instead and not s.advice)
    more = any(s.cut for s in sections)
    details = MatchesDetail(count=given, what="files", more=more)
    return ToolOutput("\n\n".join(texts), details=details, truncated=more)


_LATER = f"[not read: at most {_MOST_FILES} files a call; ask for it again]"


@dataclass(slots=True)
class _Section:
    """One file of a call; what is wrong with it spoils no other."""

    asked: FileLines
    span: Span
    content: Content | None = None
    failure: str = ""
    advice: str = ""
    cut: bool = False

    def render(self, chars: int, size: int) -> str:
        frame = f"--- FILE: {shown_name(self.asked.path)} ---\n"
        if self.content is None or self.advice or self.content.instead:
            instead = self.content.instead if self.content else self.failure
            return frame + (self.advice or instead)
        room = max(chars - len(frame) - 200, 100)
        shown = part(self.content, self.span, room, size)
        self.cut = bool(shown.go_on)
        return frame + _FRAME.sub(r"\1\\\2", _headed(self.content, self.span, shown, mark=True))


def _load(work: Workspace, path: str, span: Span) -> Content:
    if path.startswith(SPILL):
        return _spilled(work, path, span)
    with near_names_told(work, path):
        return load(work, path, span)


def _spilled(work: Workspace, path: str, span: Span) -> Content:
    file = spill_file(work, path.removeprefix(SPILL))
    try:
        if file is not None:
            with file.open("rb", buffering=0) as kept:
                found = os.fstat(kept.fileno())
                return content_of(shown_name(path), file, kept.fileno(), found, span)
    except OSError:
        file = None
    raise ToolError(f"{path!r} is not kept: no result of this session was cut under that id.")


def _sections(work: Workspace, files: Sequence[FileLines]) -> list[_Section]:
    sections: list[_Section] = []
    for file in files:
        section = _Section(file, Span.of(file.start_line, file.end_line))
        try:
            section.content = _load(work, file.path, section.span)
        except ToolError as error:
            section.failure = f"Error: {error}"
        sections.append(section)
    return sections


def _guard_sections(work: Workspace, sections: Sequence[_Section]) -> None:
    """One call counts once for each file, however many parts of it were asked for."""
    by_file: dict[str, list[_Section]] = {}
    for section in sections:
        if section.content and not section.content.instead:
            by_file.setdefault(str(section.content.real), []).append(section)
    for same in by_file.values():
        parts = [
            part(s.content, s.span, 1 << 20, work.limits.read_files_bytes)
            for s in same
            if s.content
        ]
        if same[0].content and (advice := _too_often(work, same[0].content, parts)):
            for section in same:
                section.advice = advice


def _too_often(work: Workspace, content: Content, parts: Sequence[Part]) -> str:
    """Advice, when the file was read often enough in this round (readings 3); else "" and the
    read is counted. A file that has changed counts anew."""
    read = work.reads(content.real) if work.stamp(content.real) == content.stamp else []
    if len(read) < work.limits.reads_per_round:
        first = min(parts, key=lambda p: p.first)
        work.note(content.real, content.stamp, (first.first, first.last))
        return ""
    ranges = ", ".join(f"{a}-{b}" for a, b in read)
    return (
        f"[{content.name} was read {len(read)} times in this round (lines {ranges}) and has not"
        " changed since. It is not given again: use what you have read. To find another place"
        " in it, use grep_search with includePattern; when it has changed, it can be read again.]"
    )


def _headed(content: Content, span: Span, shown: Part, *, mark: bool = False) -> str:
    """The text, under a line that says which part it is unless it is all."""
    said = _said(content, span, shown)
    if mark and said:
        said = f"[{said}]"
    return f"{said}\n{shown.text}" if said else shown.text


def _said(content: Content, span: Span, shown: Part) -> str:
    count = content.lines
    if not shown.text and shown.last < shown.first:
        return f"{content.name} has {count:,} lines; line {span.start} is beyond the end"
    said = f"{content.name}, lines {shown.first}-{shown.last}"
    said += f" of {count}" if count is not None else " (a large file, its lines are not counted)"
    if content.encoding != "utf-8":
        said += f", {content.encoding}"
    if shown.go_on:
        return f"{said}; cut at the limit, go on with startLine {shown.go_on}"
    if span.column:
        return f"{said}, from column {span.column}"
    complete = shown.first == 1 and shown.last == count and content.encoding == "utf-8"
    return "" if complete else said


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """The room in even shares; what short ones leave goes to the others."""
    shares = [0] * len(lengths)
    for rank, place in enumerate(sorted(range(len(lengths)), key=lambda i: lengths[i])):
        shares[place] = min(lengths[place], room // (len(lengths) - rank))
        room -= shares[place]
    return shares


def _output(text: str, shown: Part) -> ToolOutput:
    count = shown.last - shown.first + 1
    details = MatchesDetail(count=max(count, 0), what="lines", more=bool(shown.go_on))
    return ToolOutput(text, details=details, truncated=bool(shown.go_on))


TOOLS = (read_file, read_files, list_files, view_image, file_search, grep_search)
