"""A model whose provider has a dialect of its own, and signs what it thinks."""

import re
import weakref
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from shipmate.llm.answer import AnswerReader
from shipmate.llm.connections import Connections, Exchange
from shipmate.llm.endpoint import Endpoint, answered, hidden, refusal
from shipmate.llm.model import (
    ChatMessage,
    ModelInfo,
    Reply,
    StreamItem,
    ToolSpec,
)

UNSIGNED = (
    "{model} did not take back what it had thought before, as the conversation has changed since "
    "(compacted, or branched): it goes on without."
)
_SIGNATURE = re.compile(
    r"signature|redacted_thinking|thinking blocks?\b|block_binding",
    re.IGNORECASE,
)


class Wire(Protocol):
    """How a dialect is written and read."""

    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    def body(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        bare: Collection[ChatMessage],
    ) -> bytes:
        """The request; what `bare` messages were signed with is left out. Raises `ModelError`
        when it would break a rule."""
        ...

    def reader(self) -> AnswerReader: ...


class WireModel:
    """One model of one provider. Cheap to make; the connections are shared."""

    def __init__(
        self, info: ModelInfo, endpoint: Endpoint, connections: Connections, wire: Wire
    ) -> None:
        self.info = info
        self.endpoint = endpoint
        self._connections = connections
        self._wire = wire
        self._bare: weakref.WeakSet[ChatMessage] = weakref.WeakSet()
        """Messages whose signatures the provider refused."""

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        with hidden(self.endpoint.api_key):
            exchange, note = await self._open(messages, tools)
            async with aclosing(answered(exchange, self._wire.reader(), self.endpoint)) as items:
                async for item in items:
                    if isinstance(item, Reply) and note:
                        item = replace(item, notes=(note, *item.notes))  # noqa: PLW2901 - told
                    yield item

    async def _open(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> tuple[Exchange, str]:
        """The answer, when its status is 200, and what to tell of it; else raises what it says."""
        exchange = await self._post(messages, tools)
        if exchange.status == 200:
            return exchange, ""
        failure = await refusal(exchange, self.endpoint)
        signed = [m for m in messages if m.signed and m not in self._bare]
        if not signed or failure.kind != "refused" or not _SIGNATURE.search(str(failure)):
            raise failure
        self._bare.update(signed)
        exchange = await self._post(messages, tools)
        if exchange.status == 200:
            return exchange, UNSIGNED.format(model=self.info.id)
        raise await refusal(exchange, self.endpoint)

    async def _post(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Exchange:
        body = self._wire.body(messages, tools, self._bare)
        limit = self.endpoint.limits.first_byte
        return await self._connections.transport().post(
            self._wire.url, body, self._wire.headers, provider=self.endpoint.name, limit=limit
        )
