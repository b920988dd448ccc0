"""Fields and tools that a provider refuses: put aside, told, and remembered."""

import re
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from shipmate.llm.model import (
    ChatMessage,
    Model,
    ModelError,
    ModelInfo,
    Reply,
    StreamItem,
    ToolSpec,
)
from shipmate.llm.windows import Refused, Windows

RENAMED = {"max_tokens": "max_completion_tokens"}
"""Fields that some models want under another name, which their refusal gives."""
_REFUSES = re.compile(
    r"un(supported|recognized|recognised|known|expected)|not (supported|permitted|allowed|valid)"
    r"|extra (inputs|fields)|extra_forbidden|does ?n.t support|does not support|invalid|no such",
    re.IGNORECASE,
)
_MOST_TOOLS = re.compile(
    r"\b(?:tools?|functions?)\b.{0,120}?(?:maximum(?: length| number)?|at most|up to|limit"
    r"|exceed\w*|no more than)\D{0,24}(\d+)",
    re.IGNORECASE | re.DOTALL,
)
_NO_TOOLS = re.compile(
    r"does(?: not|n.t) support (?:\w+ )?(?:tools?|functions?)\b"
    r"|(?:tools?|function calling|tool use) (?:is|are) not supported|no .{0,40}support tool use",
    re.IGNORECASE,
)
LEFT_OUT = "{model} does not take {field}: it is left out from now on. {advice}"
FEWER = (
    "{model} takes at most {most} tools: the last {dropped} of {given} are left out. Turn off "
    "those you do not need, under Settings, MCP servers."
)
NO_TOOLS = "{model} takes no tools: it can only talk. Choose another model to have work done."


def takes_no_tools(refusal: ModelError) -> bool:
    """Whether the refusal says that this model cannot call tools."""
    return refusal.kind == "refused" and bool(_NO_TOOLS.search(str(refusal)))


def named_field(refusal: ModelError, sent: Collection[str]) -> str:
    """The one of the fields that were sent which the refusal is about; empty: it is about
    something else."""
    words = str(refusal)
    if refusal.kind != "refused" or refusal.reply_too_long or not _REFUSES.search(words):
        return ""
    found = {field: re.search(rf"(?<![\w-]){re.escape(field)}(?![\w-])", words) for field in sent}
    places = {field: match.start() for field, match in found.items() if match}
    return min(places, key=places.__getitem__, default="")


def most_tools(refusal: ModelError, given: int) -> int:
    """How many tools the refusal says are taken; 0: it is about something else."""
    if refusal.kind != "refused":
        return 0
    numbers = [int(found) for found in _MOST_TOOLS.findall(str(refusal))]
    return next((number for number in numbers if 0 < number < given), 0)


@dataclass(slots=True)
class YieldingModel:
    """Sends a request again without what its provider refuses, and from then on leaves that out:
    until other fields are set for the model."""

    info: ModelInfo
    make: Callable[[Refused], Model]
    fields: tuple[str, ...]
    """Names of the fields that its requests have beside the common ones."""
    setting: str
    """What is set; another one is tried anew."""
    windows: Windows
    can_do_without: bool
    """A model that takes no tools is asked without them; else its refusal is raised."""
    _made: tuple[Refused, Model] | None = None

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        notes: list[str] = []
        while True:
            refused = self.windows.refused(self.info.id, self.setting)
            offered = tools if refused.tools is None else tools[: refused.tools]
            try:
                async with aclosing(self._model(refused).stream(messages, offered)) as items:
                    async for item in items:
                        if isinstance(item, Reply) and notes:
                            item = replace(item, notes=(*notes, *item.notes))  # noqa: PLW2901 - told
                        yield item
            except ModelError as refusal:
                learned, note = self._learned(refusal, refused, len(offered))
                if learned is None:
                    raise
                notes.append(note)
                await self.windows.refuse(self.info.id, self.setting, learned)
            else:
                return

    def _model(self, refused: Refused) -> Model:
        if self._made is None or self._made[0].fields != refused.fields:
            self._made = refused, self.make(refused)
        return self._made[1]

    def _learned(
        self, refusal: ModelError, refused: Refused, given: int
    ) -> tuple[Refused | None, str]:
        """What is left out from now on, and what is told of it."""
        name = self.info.id
        if given and takes_no_tools(refusal):
            if self.can_do_without:
                return replace(refused, tools=0), NO_TOOLS.format(model=name)
            return None, ""
        if most := most_tools(refusal, given):
            told = FEWER.format(model=name, most=most, dropped=given - most, given=given)
            return replace(refused, tools=most), told
        if field := named_field(refusal, set(self.fields) - set(refused.fields)):
            other = RENAMED.get(field, "")
            advice = "If it was set by you, take it out of the settings of the provider."
            if other and other in str(refusal):
                advice = f"{other} is sent in its place."
            told = LEFT_OUT.format(model=name, field=field, advice=advice)
            kept = (*refused.fields, field, *([other] if other and other in str(refusal) else []))
            return replace(refused, fields=kept), told
        return None, ""
