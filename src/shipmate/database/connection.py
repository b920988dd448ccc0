"""What statements are run on: the part of a database's connection that this room uses, in SQL that
SQLite and PostgreSQL both understand. Values stand as `?`."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from shipmate.database.finding import Finder
from shipmate.errors import StorageError

T = TypeVar("T")


class Cursor(Protocol):
    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Cursor: ...
    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> Cursor: ...
    def close(self) -> None: ...


class Database(Protocol):
    """What the other tables of this room need of a store."""

    def execute(self, work: Callable[[Connection], T], /) -> Awaitable[T]:
        """Do `work` in a transaction of the one writer."""
        ...

    def read(self, work: Callable[[Connection], T], /) -> Awaitable[T]: ...


class Engine(Protocol):
    """A kind of database: how to reach it, what frames a transaction, what its errors mean."""

    @property
    def find(self) -> Finder: ...
    @property
    def errors(self) -> type[Exception]:
        """What its statements raise."""
        ...

    def connect(self) -> Connection: ...
    def begin(self, db: Connection, *, durable: bool) -> None:
        """Begin to write. `durable`: what is committed has reached the disk."""
        ...

    def begin_to_read(self, db: Connection) -> None:
        """All that is read until `roll_back` stood at one moment."""
        ...

    def roll_back(self, db: Connection) -> None:
        """Leave no transaction open; raises nothing."""
        ...

    def is_lost(self, error: Exception) -> bool:
        """Nothing of the transaction can be kept: disk full, locked, the connection gone."""
        ...

    def is_again(self, error: Exception) -> bool:
        """Another writer was in the way: the same transaction would be kept now."""
        ...

    def explain(self, error: Exception) -> StorageError:
        """What happened, in words a person can act on."""
        ...
