"""How an endpoint is declared: method, path, scope, what it takes and what it answers.

    @endpoint("POST", "/api/agent/stop", scope="run", body=OfSession)
    async def stop(call: Call[OfSession]) -> None:
        '''What the API's document says about it.'''

There is no endpoint without a scope, so access cannot be forgotten.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec
from starlette.datastructures import Headers
from starlette.types import ASGIApp

from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House

Scope: TypeAlias = Literal["public", "read", "run", "approve", "admin"]
"""What a caller must be allowed. `admin` includes all; every other one includes `read`."""
Method: TypeAlias = Literal["GET", "POST", "PATCH", "DELETE"]

BODY_LIMIT = 4 * 1024 * 1024
"""Bytes of a JSON body, unless an endpoint says otherwise."""

Given = TypeVar("Given")


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of bodies and queries: strictly decoded, an unknown field is refused."""


class Nothing(Input, frozen=True, kw_only=True):
    """An endpoint that takes nothing."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and what they may do."""

    name: str
    """`user` for a signed-in browser, else the name of the token."""
    scopes: frozenset[str]
    sign_in: str = ""
    """Id of the browser's sign-in."""

    def may(self, scope: Scope) -> bool:
        return (
            scope in self.scopes
            or "admin" in self.scopes
            or (scope == "read" and bool(self.scopes))
        )

    def must(self, scope: Scope) -> None:
        if not self.may(scope):
            raise HttpError(403, "scope", f"The token {self.name!r} lacks the scope {scope!r}.")


NOBODY = Caller("", frozenset())


@dataclass(frozen=True, slots=True)
class Call(Generic[Given]):
    """One request that has passed every check."""

    house: House
    given: Given
    """The decoded body, or the decoded query."""
    path: Mapping[str, str]
    caller: Caller
    headers: Headers


Answer: TypeAlias = msgspec.Struct | bytes | ASGIApp | None
"""A struct (JSON), bytes (ready JSON), an ASGI response, or nothing (204)."""
Handler: TypeAlias = Callable[[Call[Any]], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: Method
    path: str
    scope: Scope
    handler: Handler
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] | None = None
    answer: Any = None
    """Type of the answer, for the document; None: no content."""
    stream: bool = False
    """It answers with `text/event-stream`."""
    status: int = HTTPStatus.OK
    limit: int = BODY_LIMIT
    deprecated: bool = False

    @property
    def name(self) -> str:
        return getattr(self.handler, "__name__", "")

    @property
    def description(self) -> str:
        return inspect.getdoc(self.handler) or ""


def endpoint(
    method: Method, path: str, *, scope: Scope, **options: Any
) -> Callable[[Handler], Endpoint]:
    """Make an endpoint of a handler; `options` are the other fields of `Endpoint`."""

    def declare(handler: Handler) -> Endpoint:
        return Endpoint(method, path, scope, handler, **options)

    return declare
