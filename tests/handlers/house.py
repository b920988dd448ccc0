"""A house for tests: real keys on a real database."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from shipmate.database.keys import Keys
from shipmate.handlers.gate import Gate
from shipmate.handlers.house import House
from shipmate.handlers.place import Place
from shipmate.handlers.table import ENDPOINTS

T = TypeVar("T")


class OneConnection:
    """A database in memory, with the tables of the first migration."""

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(
            "CREATE TABLE api_tokens (id TEXT PRIMARY KEY, name TEXT, hash TEXT UNIQUE,"
            " scopes TEXT, created_at INTEGER, used_at INTEGER)"
        )
        self.db.execute(
            "CREATE TABLE sign_ins (id TEXT PRIMARY KEY, cookie_hash TEXT UNIQUE,"
            " header_hash TEXT, created_at INTEGER, expires_at INTEGER)"
        )

    async def execute(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self.db:
            return work(self.db)


@dataclass
class Sessionless:
    """The gate with everything but sessions behind it."""

    gate: Gate
    keys: Keys
    writer: OneConnection


async def sessionless() -> Sessionless:
    writer = OneConnection()
    keys = await Keys.open(writer)
    return Sessionless(Gate(House(keys, Place.at(8765)), ENDPOINTS), keys, writer)
