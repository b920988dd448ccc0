"""The process's connections to providers, opened when first used."""

import asyncio
import importlib
from collections.abc import Mapping
from typing import Protocol


class Exchange(Protocol):
    """One answer while it is read (`transport.Exchange`)."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    async def read(self, limit: float) -> bytes: ...
    async def failure(self, limit: float) -> bytes: ...
    def close(self) -> None: ...


class Transport(Protocol):
    """What sends requests (`transport.Transport`)."""

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, provider: str, limit: float
    ) -> Exchange: ...
    async def close(self) -> None: ...


class Connections:
    """One for the process, shared by all models; closed when the server ends."""

    def __init__(self) -> None:
        self._transport: Transport | None = None
        self.without_usage: set[str] = set()
        """Base URLs of providers that refused `stream_options`: it is not sent there again."""

    def transport(self) -> Transport:
        """To be called on the event loop that uses it."""
        if self._transport is None:
            from shipmate.llm import transport  # aiohttp takes 0.2 s: not before it is needed

            self._transport = transport.Transport()
        return self._transport

    async def warm(self) -> None:
        """Import what the first request needs, beside the event loop."""
        await asyncio.to_thread(importlib.import_module, "shipmate.llm.transport")

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.close()
            self._transport = None
