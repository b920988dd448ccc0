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

from shipmate.database.users import Role
from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House
from shipmate.protocol import SessionRow
from shipmate.session.projects import ProjectSettings

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


ALLOWED: Mapping[Role, frozenset[str]] = {
    "admin": frozenset({"admin"}),
    "user": frozenset({"read", "run", "approve"}),
    "viewer": frozenset({"read"}),
}
"""The scopes of a role."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and what they may do."""

    name: str
    """Of the user or the token; `user` for the person at the machine, in a browser."""
    scopes: frozenset[str]
    sign_in: str = ""
    """Id of the browser's sign-in."""
    user: str = ""
    """Whose sessions and projects are theirs; empty: the person at the machine."""
    role: Role = "admin"
    token: str = ""
    """Id of the bearer token."""

    @property
    def credential(self) -> str:
        return self.sign_in or self.token

    def may(self, scope: Scope) -> bool:
        return (
            scope in self.scopes
            or "admin" in self.scopes
            or (scope == "read" and bool(self.scopes))
        )

    def must(self, scope: Scope) -> None:
        if self.may(scope):
            return
        if self.sign_in:
            detail = f"This needs the scope {scope!r}, which the role {self.role!r} does not have."
        else:
            detail = f"The token {self.name!r} lacks the scope {scope!r}."
        raise HttpError(403, "scope", detail)

    @property
    def everything(self) -> bool:
        """Whether they see what is others', too."""
        return self.role == "admin"

    def owns(self, row: SessionRow) -> bool:
        return self.everything or row.owner == self.user

    def sees(self, row: SessionRow) -> bool:
        return self.owns(row) or self.user in row.readers

    def uses(self, project: ProjectSettings) -> bool:
        return self.everything or self.user == project.owner or self.user in project.people


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
    address: str
    """Of the client, as far as the proxies in between are trusted."""


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
    waits: bool = False
    """Its answer takes as long as a round; as a stream, it ends when its caller is shut out."""
    status: int = HTTPStatus.OK
    limit: int = BODY_LIMIT
    deprecated: bool = False
    audit: tuple[str, ...] | None = None
    """The fields of what is given that go to the audit log, with the path's. None: it is not
    logged, unless it changes something that only an admin may."""

    @property
    def audited(self) -> bool:
        changes = self.scope == "admin" and self.method != "GET"
        return changes or self.audit is not None

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
