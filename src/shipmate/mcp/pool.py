"""All servers: those that are configured are running, and their tools are at hand."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from shipmate.errors import NotFoundError, did_you_mean
from shipmate.mcp.server import Server, Surroundings
from shipmate.mcp.settings import McpServerSettings, McpSettings
from shipmate.mcp.shelf import NO_OFFER, Offer, Shelves, Stock, Wanted
from shipmate.mcp.sign_in import secret_name
from shipmate.mcp.tools import PROVIDER, as_tool


@dataclass(slots=True, eq=False)
class Pool:
    settings: Callable[[], McpSettings]
    around: Surroundings
    tasks: asyncio.TaskGroup
    servers: dict[str, Server] = field(default_factory=dict[str, Server])
    started: bool = False
    _stocks: dict[str, Stock] = field(default_factory=dict[str, Stock])
    _shelves: Shelves = field(default_factory=Shelves)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def start(self) -> None:
        """Begin to connect, once the server answers: nothing waits for it."""
        self.started = True
        await self.sync()

    async def sync(self) -> None:
        """Bring what runs in line with the configuration."""
        if not self.started:
            return
        async with self._turn:
            wanted = self.settings().servers
            gone = [s for n, s in self.servers.items() if _differs(s, wanted.get(n))]
            await asyncio.gather(*(server.close() for server in gone))
            for server in gone:
                del self.servers[server.name]
                self._stocks.pop(server.name, None)
            for name, settings in wanted.items():
                if name not in self.servers:
                    self._add(name, settings)
            self.servers = {name: self.servers[name] for name in wanted}

    async def close(self) -> None:
        self.started = False
        async with self._turn:
            await asyncio.gather(*(server.close() for server in self.servers.values()))
            self.servers.clear()

    async def settled(self, patience: float) -> None:
        """Until each is ready or will not be; `patience` seconds at most."""
        await asyncio.gather(*(server.settled(patience) for server in self.servers.values()))

    async def refresh(self, name: str = "", patience: float = 0.0) -> None:
        """List again, and try again what has failed; of one server, or of all."""
        await self.sync()
        chosen = [self.server(name)] if name else list(self.servers.values())
        await asyncio.gather(*(server.refreshed(patience) for server in chosen))

    async def forget(self, name: str) -> None:
        """A server was removed: what was accepted of it, and its sign-in, go as well."""
        await self.sync()
        await self.around.pins.forget(name)
        await asyncio.to_thread(self.around.secrets.forget, secret_name(name))

    def server(self, name: str) -> Server:
        found = self.servers.get(name)
        if found is None:
            raise NotFoundError(
                f"There is no MCP server {name!r}{did_you_mean(name, self.servers)}"
            )
        return found

    # --- tools ----------------------------------------------------------------------------

    def offer(self, wanted: Wanted) -> Offer:
        """The tools for one agent in one project."""
        stocks = [
            self._stocks[name]
            for name in self.servers
            if name in self._stocks and _allowed(name, wanted)
        ]
        if not stocks:
            return NO_OFFER
        return self._shelves.offer(stocks, int(wanted.context * self.settings().tools_share))

    def _add(self, name: str, settings: McpServerSettings) -> None:
        server = Server(name, settings, self.around)
        server.changed = lambda: self._restock(server)
        self.servers[name] = server
        if settings.enabled:
            server.start(self.tasks)

    def _find(self, server: str) -> Server | None:
        return self.servers.get(server)

    def _restock(self, server: Server) -> None:
        offered = server.offered()
        if not offered:
            self._stocks.pop(server.name, None)
            return
        known = self._stocks.get(server.name)
        hashes = tuple(tool.hash for tool in offered)
        if known is None or known.hashes != hashes:
            tools = {t.wire: as_tool(self._find, server.name, t) for t in offered}
            tokens = sum(tool.tokens for tool in offered)
            self._stocks[server.name] = Stock(server.name, tools, tokens, hashes)


def _differs(server: Server, settings: McpServerSettings | None) -> bool:
    return settings is None or settings != server.settings


def _allowed(name: str, wanted: Wanted) -> bool:
    agent = f"{PROVIDER}{name}" in wanted.providers or f"{PROVIDER}*" in wanted.providers
    return agent and (name in wanted.project or "*" in wanted.project)
