"""Replies that were asked for longer than the model can give: asked for shorter, and told."""

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from shipmate.llm.model import (
    ChatMessage,
    Model,
    ModelError,
    ModelInfo,
    Reply,
    StreamItem,
    ToolSpec,
)
from shipmate.llm.windows import Windows

LEAST = 16
"""A shorter reply is of no use."""
LOWERED = (
    "{model} gives replies of fewer tokens than the {before:,} that are set for it: it was asked "
    "for {after:,} instead. {advice}"
)
_SET_IT = "Set max_output of this model to that, and this is said no more."
_FOR_NOW = "That is what the conversation leaves of its window."
_MOST = re.compile(
    r"(?:at most|up to|less than or equal to|maximum value for \W?\w+\W? is|<=|\[\d+, ?|> ?)"
    r"\W{0,3}(\d[\d,_]*)"
)
_IN_WINDOW = re.compile(
    r"context (?:length|window) is (\d[\d,_]*) tokens.{0,80}?(\d[\d,_]*) "
    r"(?:input tokens|in the messages)",
    re.DOTALL,
)

_SUMMED = re.compile(r"exceed context limit: (\d[\d,_]*) \+ \d[\d,_]* > (\d[\d,_]*)")


class LoweringModel:
    """Sends `max_tokens`; where a provider refuses it as too large, a smaller one at once, and
    from then on."""

    def __init__(self, make: Callable[[int], Model], most: int, windows: Windows) -> None:
        self._make = make
        self._most = most
        """What is set."""
        self._windows = windows
        self._made = most, make(most)

    @property
    def info(self) -> ModelInfo:
        return self._made[1].info

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        most = self._windows.output(self.info.id, self._most)
        note = ""
        while True:
            try:
                async with aclosing(self._asking(most).stream(messages, tools)) as items:
                    async for item in items:
                        yield _noted(item, note) if isinstance(item, Reply) and note else item
            except ModelError as refusal:
                lower, lasts = lowered(refusal, most)
                if lower < LEAST:
                    raise
                if lasts:
                    await self._windows.lower(self.info.id, self._most, lower)
                advice = _SET_IT if lasts else _FOR_NOW
                name = self.info.id
                note = LOWERED.format(model=name, before=self._most, after=lower, advice=advice)
                most = lower
            else:
                return

    def _asking(self, most: int) -> Model:
        if self._made[0] != most:
            self._made = most, self._make(most)
        return self._made[1]


def _noted(reply: Reply, note: str) -> Reply:
    return replace(reply, notes=(note, *reply.notes))


def lowered(refusal: ModelError, most: int) -> tuple[int, bool]:
    """A smaller number of tokens that the provider may take, and whether it is the model's own
    limit; 0 when the refusal is about something else."""
    words = str(refusal)
    if room := _room(words):
        return (room if room < most else 0), False
    if refusal.kind != "refused" or not refusal.reply_too_long:
        return 0, False
    named = [number for number in _named(words) if LEAST <= number < most]
    return max(named, default=most // 2), True


def _room(words: str) -> int:
    """What the prompt leaves of the window, by the words of a refusal."""
    if summed := _SUMMED.search(words):
        return max(0, _number(summed[2]) - _number(summed[1]))
    found = _IN_WINDOW.search(words)
    return max(0, _number(found[1]) - _number(found[2])) if found else 0


def _named(words: str) -> Iterator[int]:
    for found in _MOST.finditer(words):
        yield _number(found[1])


def _number(digits: str) -> int:
    return int(re.sub(r"\D", "", digits))
