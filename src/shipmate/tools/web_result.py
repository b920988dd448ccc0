"""Several pages as one result: what was cut is said in front, and kept whole beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shipmate.tools.excerpts import excerpts
from shipmate.tools.output import clean, cut, keep_whole
from shipmate.tools.pages import Page
from shipmate.tools.tool import ToolContext, ToolOutput

_FRAME: Final = "--- PAGE: "
_NOTICE: Final = 300
"""Room kept for what is said of a page that is cut."""
_FEWEST: Final = 400
"""Characters that a page of several gets, however long the others are."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one address."""

    url: str
    """Of the page in the end; as it was asked where there is none."""
    page: Page | None = None
    kind: str = ""
    status: str = ""
    failed: bool = False
    notes: tuple[str, ...] = ()
    fault: str = ""
    """Why there is no page."""

    def head(self) -> str:
        if self.page is None:
            return f"{_FRAME}{self.url} ---\n{self.fault}\n"
        said = " · ".join(part for part in (self.status, self.kind) if part)
        lines = [f"{_FRAME}{self.url} ---", said]
        if self.page.title:
            lines.append(f"Title: {clean(self.page.title)[:300]}")
        lines += [f"[{note}]" for note in (*self.notes, self.page.note) if note]
        return "\n".join(lines) + "\n"

    def body(self) -> str:
        """Its text; a line that looks like one of our frames is shown with a backslash."""
        text = clean(self.page.text).strip("\n") if self.page else ""
        if _FRAME in text:
            text = "\n".join(
                f"\\{line}" if line.startswith(_FRAME) else line for line in text.split("\n")
            )
        return f"\n{text}\n" if text else ""


async def as_result(ctx: ToolContext, fetched: Sequence[Fetched], query: str) -> ToolOutput:
    """Within the limit of a result. The pages share the room evenly; what one does not need, the
    others get."""
    heads, bodies = [one.head() for one in fetched], [one.body() for one in fetched]
    limit = ctx.work.limits.tool_result_chars
    whole = "\n".join(h + b for h, b in zip(heads, bodies, strict=True))
    failed = all(one.page is None or one.failed for one in fetched)
    if len(whole) <= limit:
        return ToolOutput(whole, is_error=failed, untrusted=True)
    name = await keep_whole(whole, ctx.work, ctx.call)
    rooms = _rooms(bodies, limit - sum(map(len, heads)) - _NOTICE * len(fetched) - len(fetched))
    notices: list[str] = []
    for index, (body, room) in enumerate(zip(bodies, rooms, strict=True)):
        if len(body) > room:
            shown, how = _part(body, query, room)
            bodies[index] = shown
            of = f" of {fetched[index].url[:100]}" if len(fetched) > 1 else ""
            notices.append(f"[Cut: {how}{of} ({len(shown):,} of {len(body):,} characters).]")
    rest = f'[The whole text: read_file {{"path": "{name}"}}]' if name else _LOST
    text = "\n".join([*notices, rest, *(h + b for h, b in zip(heads, bodies, strict=True))])
    return ToolOutput(text, is_error=failed, untrusted=True, truncated=True)


_LOST = "[The rest could not be kept; ask for one page, or for a part with `query`.]"


def _part(body: str, query: str, room: int) -> tuple[str, str]:
    if query.strip():
        if found := excerpts(body, query, room):
            return f"\n{found}\n"[:room], f"the parts that have to do with {query[:60]!r}"
        return cut(body, room), f"nothing in it has the words of {query[:60]!r}; the beginning"
    return cut(body, room), "this is the beginning"


def _rooms(bodies: Sequence[str], room: int) -> list[int]:
    rooms = [0] * len(bodies)
    order = sorted(range(len(bodies)), key=lambda i: len(bodies[i]))
    for done, index in enumerate(order):
        share = max(room // (len(bodies) - done), _FEWEST)
        rooms[index] = min(len(bodies[index]), share)
        room -= rooms[index]
    return rooms
