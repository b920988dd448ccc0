"""A packaged model as a `Model`: its server is started by the first request."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from shipmate.llm.connections import Connections
from shipmate.llm.endpoint import PATIENT, Endpoint
from shipmate.llm.model import ChatMessage, Model, ModelInfo, StreamItem, ToolSpec
from shipmate.llm.offline.process import Address, OfflineServer
from shipmate.llm.openai import OpenAIModel
from shipmate.llm.schema import SchemaModel

CORE = {
    "read_file": "Read a file and return its content; the first step when a file is named.",
    "list_files": "List the files of a folder; '.' is the project's.",
    "grep_search": "Search all files for a text; only when no file is named.",
    "write_file": "Create or overwrite a file with the given content.",
    "replace_string_in_file": "Replace the text oldString by newString in a file.",
}
"""The tools a small model is offered, described for it."""
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
        async with (
            self._server.in_use() as address,
            aclosing(self._model(address).stream(messages, tools)) as items,
        ):
            async for item in items:
                yield item

    def _model(self, address: Address) -> OpenAIModel:
        if self._at is None or self._at[0] != address:
            end = Endpoint(
                "The offline model",
                address.base_url,
                address.api_key,
                extra=self._fields,
                limits=PATIENT,
            )
            self._at = (address, OpenAIModel(self.info, end, self._connections))
        return self._at[1]


class SmallModel:
    """Offers a small model what it can handle: few tools, and of each only what it must be told.
    With all of them it reads one line of a file (`endLine: 1`) and makes up the rest."""

    def __init__(self, model: Model) -> None:
        self.info = model.info
        self._model = model

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        async with aclosing(self._model.stream(messages, few(tools))) as items:
            async for item in items:
                yield item


def few(tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    """The core tools among those offered (all, where none is) without optional parameters."""
    core = [tool for tool in tools if tool.name in CORE]
    return [_simple(tool) for tool in core or tools]


def _simple(tool: ToolSpec) -> ToolSpec:
    required = {*tool.parameters.get("required", ()), "path"}
    properties = tool.parameters.get("properties", {})
    kept = {name: schema for name, schema in properties.items() if name in required}
    parameters = {**tool.parameters, "properties": kept, "required": list(kept)}
    description = CORE.get(tool.name, tool.description)
    return replace(tool, description=description, parameters=parameters)


def offline_model(server: OfflineServer, connections: Connections) -> Model:
    """`offline/KEY`, which is offered few tools."""
    return SmallModel(by_schema(server, connections))


def by_schema(server: OfflineServer, connections: Connections) -> Model:
    """Its answers are constrained by a schema (1.5B: 19 of 20 tasks against 0 with native calls),
    and the tools are listed in short, as each token of the prompt takes 5 ms."""
    info = ModelInfo(f"offline/{server.key}", context_length=server.context, context_source="table")

    def constrained(fields: Mapping[str, Any]) -> Model:
        return ServedModel(info, server, connections, fields)

    return SchemaModel(constrained, "compact")
