"""How much room the tools of servers take. Above a share of the model's context they are listed by
name, and fetched with `tool_search` when they are wanted."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from shipmate.protocol import ToolsDetail
from shipmate.tools.tool import Tool, ToolContext, ToolError, ToolOutput, never_ask, tool

FOUND = 8
"""Tools that one search fetches."""
_LISTING = 6_000
"""Characters of the names in the description of `tool_search`."""
_WORD = re.compile(r"[a-z0-9]+|[^\W\d_a-z]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """For whom tools are put together."""

    providers: tuple[str, ...]
    """Of the agent; those of servers begin with `mcp:`."""
    project: tuple[str, ...] = ("*",)
    """Servers the project allows."""
    context: int = 128_000
    """Tokens of the model's window."""


@dataclass(frozen=True, slots=True)
class Offer:
    tools: Mapping[str, Tool]
    """Those that are offered at once; `tool_search` is among them where there is a shelf."""
    shelf: Mapping[str, Tool]
    """The others."""


NO_OFFER = Offer({}, {})


@dataclass(frozen=True, slots=True)
class Stock:
    """The tools of one server, made once for each list it gives."""

    server: str
    tools: Mapping[str, Tool]
    tokens: int
    hashes: tuple[str, ...] = ()
    """What the tools are made of."""


@dataclass(slots=True)
class Shelves:
    """Offers, kept as long as the stocks they are made of are the same."""

    _made: dict[tuple[int, ...], tuple[Sequence[Stock], Offer]] = field(
        default_factory=dict[tuple[int, ...], tuple[Sequence[Stock], Offer]]
    )

    def offer(self, stocks: Sequence[Stock], room: int) -> Offer:
        """`room`: tokens they may take together."""
        fits = sum(stock.tokens for stock in stocks) <= room
        key = (fits, *(id(stock) for stock in stocks))
        found = self._made.get(key)
        if found is None:
            if len(self._made) > 50:
                self._made.clear()
            found = self._made[key] = (stocks, _offer(stocks, fits))
        return found[1]


def _offer(stocks: Sequence[Stock], fits: bool) -> Offer:
    every = {name: one for stock in stocks for name, one in stock.tools.items()}
    if fits:
        return Offer(every, {})
    search = searching(stocks, every)
    return Offer({search.name: search}, every)


def searching(stocks: Sequence[Stock], shelf: Mapping[str, Tool]) -> Tool:
    """`tool_search` over a shelf."""

    @tool(
        provider="mcp",
        judge=never_ask,
        effect=False,
        example='{"query": "create issue"}',
    )
    async def tool_search(ctx: ToolContext, query: str) -> ToolOutput:
        """Fetch tools of MCP servers, by what they do or by their names."""
        found = await asyncio.to_thread(search, shelf, query)
        if not found:
            raise ToolError(f"No tool has to do with {query!r}. Try other words, or a server.")
        texts = [f"{one.name}: {one.description}\n{_schema(one)}" for one in found]
        head = f"Fetched {len(found)}; from now on you can call them:"
        return ToolOutput(
            "\n\n".join([head, *texts]), details=ToolsDetail(names=tuple(t.name for t in found))
        )

    described = f"{tool_search.description}\n\nThere are:\n{listing(stocks)}"
    return replace(tool_search, description=described)


def listing(stocks: Sequence[Stock]) -> str:
    """Every name while there is room; then as many of each server as fit, and how many more."""
    share = _LISTING // max(len(stocks), 1)
    lines: list[str] = []
    for stock in stocks:
        names = list(stock.tools)
        line, shown = f"{stock.server}: ", 0
        for name in names:
            if len(line) + len(name) > share and shown:
                break
            line += f"{', ' if shown else ''}{name}"
            shown += 1
        more = len(names) - shown
        lines.append(f"{line} and {more:,} more" if more else line)
    return "\n".join(lines)


def search(shelf: Mapping[str, Tool], query: str) -> list[Tool]:
    """The tools that have most to do with the words of a query; one named exactly comes first."""
    words = {word.lower() for word in _WORD.findall(query)}
    named = [shelf[name] for name in re.split(r"[\s,]+", query.strip()) if name in shelf]
    scored: list[tuple[float, int, Tool]] = []
    for place, one in enumerate(shelf.values()):
        name, text = one.name.lower(), one.description.lower()
        score = sum(3.0 * (word in name) + (word in text) for word in words)
        if score and one not in named:
            scored.append((-score, place, one))
    ranked = [one for _, _, one in sorted(scored, key=lambda item: item[:2])]
    return [*named, *ranked][:FOUND]


def _schema(one: Tool) -> str:
    return msgspec.json.encode(one.parameters).decode()
