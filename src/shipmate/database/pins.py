"""What was accepted of MCP servers: each tool as it was then, as bytes that its reader knows."""

import time
from collections.abc import Mapping

from shipmate.database.connection import Database


class Pins:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def accepted(self, server: str) -> dict[str, bytes]:
        """The accepted tools of a server by their names."""
        query = "SELECT tool, definition FROM mcp_tools WHERE server = ?"
        rows = await self._database.read(lambda db: db.execute(query, (server,)).fetchall())
        return dict(rows)

    async def accept(self, server: str, tools: Mapping[str, bytes]) -> None:
        """Accept these, in place of what was accepted under their names."""
        now = int(time.time() * 1000)
        rows = [(server, tool, definition, now) for tool, definition in tools.items()]
        statement = (
            "INSERT INTO mcp_tools VALUES (?, ?, ?, ?) ON CONFLICT (server, tool) DO UPDATE "
            "SET definition = excluded.definition, accepted_at = excluded.accepted_at"
        )
        await self._database.execute(lambda db: db.executemany(statement, rows).rowcount)

    async def forget(self, server: str) -> None:
        statement = "DELETE FROM mcp_tools WHERE server = ?"
        await self._database.execute(lambda db: db.execute(statement, (server,)).rowcount)
