"""The real limits of models, as their providers tell them when a request did not fit."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

LEAST = 512
"""A smaller number is not a window."""
_NAMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:maximum|max|model'?s?) context (?:length|window|size)(?: of the model)?"
        r"(?: is| of|:)?(?: only)? ([\d,_]+)",
        r"available context size \(?([\d,_]+)",
        r"n_ctx\W{1,4}([\d,_]+)",
        r"> ?([\d,_]+) ?(?:tokens )?maximum",
        r"should be \[\d+, ?([\d,_]+)\]",
        r"maximum number of (?:input )?tokens allowed \(?([\d,_]+)",
        r"(?:limit|maximum)(?: is| of|:) ([\d,_]+) ?(?:input )?tokens",
        r"maximum (?:prompt|input) length is ([\d,_]+)",
        r"context (?:length|window) (?:is|of) (?:only )?([\d,_]+)",
    )
)


def window_told(message: str) -> int:
    """The window that the words of a refusal name; 0 when they name none."""
    return max(_told(message), default=0)


def _told(message: str) -> Iterator[int]:
    if re.search(r"per[ -](minute|day|hour)", message, re.IGNORECASE):
        return  # a limit of the account
    for pattern in _NAMED:
        for found in pattern.finditer(message):
            number = int(re.sub(r"\D", "", found[1]) or 0)
            if number >= LEAST:
                yield number


@dataclass(frozen=True, slots=True)
class Refused:
    """What a provider does not take of a model's requests."""

    fields: tuple[str, ...] = ()
    """Left out; where one is known by another name, that follows it."""
    tools: int | None = None
    """How many it takes at most; None: nobody knows of a limit."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What providers told of a model. Each holds only as long as what is set for the model is
    what was set then: so a new setting is tried."""

    window: int = 0
    window_set: int = 0
    output: int = 0
    output_set: int = 0
    refused: str = ""
    """Names of fields, parted by blanks."""
    refused_set: str = ""
    tools: int = -1
    """-1: no limit is known."""


Keep: TypeAlias = Callable[[str, Learned], Awaitable[None]]


async def _not_kept(_model: str, _learned: Learned) -> None:
    """For who forgets it at the end."""


class Windows:
    """Tokens that models take and give, as their providers told: by `provider/model`."""

    def __init__(self, known: Mapping[str, Learned] | None = None, keep: Keep = _not_kept) -> None:
        self._told = dict(known or {})
        self._keep = keep

    async def learn(self, model: str, known: int, message: str) -> bool:
        """Take in a refusal of a model whose window was taken for `known`; false when it names
        no window."""
        told = window_told(message)
        if told:
            await self._learn(model, window=told, window_set=known)
        return bool(told)

    def of(self, model: str, known: int) -> int:
        """The window of a model: what its provider told, else what is `known` of it."""
        told = self._told.get(model, Learned())
        return min(known, told.window) if told.window_set == known else known

    async def lower(self, model: str, wanted: int, most: int) -> None:
        """The model gives no replies of `wanted` tokens, but of `most`."""
        await self._learn(model, output=most, output_set=wanted)

    def output(self, model: str, wanted: int) -> int:
        """How long a reply may be asked for, where `wanted` is set."""
        told = self._told.get(model, Learned())
        return min(wanted, told.output) if told.output_set == wanted else wanted

    async def refuse(self, model: str, setting: str, refused: Refused) -> None:
        """The model does not take this, where `setting` is what is set for it."""
        tools = -1 if refused.tools is None else refused.tools
        fields = " ".join(refused.fields)
        await self._learn(model, refused=fields, refused_set=setting, tools=tools)

    def refused(self, model: str, setting: str) -> Refused:
        """What the model does not take, where `setting` is what is set for it."""
        told = self._told.get(model, Learned())
        if told.refused_set != setting:
            return Refused()
        return Refused(tuple(told.refused.split()), None if told.tools < 0 else told.tools)

    async def _learn(self, model: str, **told: int | str) -> None:
        self._told[model] = replace(self._told.get(model, Learned()), **told)
        await self._keep(model, self._told[model])
