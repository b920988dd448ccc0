"""What is asked of the network, and what asks it."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, Protocol

from shipmate.errors import ShipmateError
from shipmate.safety.urls import Url

SECONDS: Final = 30.0
"""For all of one request, from the name's lookup to the last byte."""


class NetworkError(ShipmateError):
    """A request that could not be made, or was refused; says where and why."""

    status = 502
    code = "network"


class Head(Protocol):
    """The head of an answer, its body still to come (`network.pool`)."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    async def chunk(self) -> bytes:
        """What has come of the body; empty at its end. Raises `ConnectionError` when it ended
        too early."""
        ...

    def close(self) -> None: ...


class Sender(Protocol):
    """What sends one request (`network.pool.Pool`)."""

    async def send(self, url: Url, request: "Request", *, free: bool) -> Head: ...
    async def close(self) -> None: ...


class Resolver(Protocol):
    """Gives the addresses a name stands for."""

    async def addresses(self, host: str, port: int) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Request:
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    exempt: AbstractSet[str] = frozenset()
    """Hosts that the user set up, which may be of a private network: `name` or `name:port`."""
    elsewhere: bool = False
    """Follow redirects to other hosts, too; what is bound to a host is left behind."""
    seconds: float = SECONDS
