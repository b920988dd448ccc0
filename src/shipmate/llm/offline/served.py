"""A packaged model as a `Model`: its server is started by the first request."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from shipmate.llm.connections import Connections
from shipmate.llm.model import ChatMessage, Model, ModelInfo, StreamItem, ToolSpec
from shipmate.llm.offline.process import Address, OfflineServer
from shipmate.llm.openai import Endpoint, OpenAIModel
from shipmate.llm.schema import SchemaModel

LONGEST_REPLY = 2048
"""Tokens. A small model that has begun to repeat itself would go on to the end of its context."""


class ServedModel:
    """Speaks to an `OfflineServer`, wherever it listens at the moment."""

    def __init__(
        self,
        info: ModelInfo,
        server: OfflineServer,
        connections: Connections,
        fields: Mapping[str, Any],
    ) -> None:
        self.info = info
        self._server = server
        self._connections = connections
        self._fields = {"max_tokens": LONGEST_REPLY, **fields}
        self._at: tuple[Address, OpenAIModel] | None = None

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        model = self._model(await self._server.address())
        async with aclosing(model.stream(messages, tools)) as items:
            async for item in items:
                yield item

    def _model(self, address: Address) -> OpenAIModel:
        if self._at is None or self._at[0] != address:
            end = Endpoint(
                "The offline model", address.base_url, address.api_key, extra=self._fields
            )
            self._at = (address, OpenAIModel(self.info, end, self._connections))
        return self._at[1]


def offline_model(server: OfflineServer, connections: Connections) -> Model:
    """`offline/KEY`. Its answers are constrained by a schema (1.5B: 19 of 20 tasks against 0 with
    native calls), and the tools are listed in short, as each token of the prompt takes 5 ms."""
    info = ModelInfo(f"offline/{server.key}", context_length=server.context, context_source="table")

    def constrained(fields: Mapping[str, Any]) -> Model:
        return ServedModel(info, server, connections, fields)

    return SchemaModel(constrained, "compact")
