"""The one way in: every request passes the same checks in the same order.

503 while ending, 421 Host, 403 Origin, 404 and 405, 401 and 403 scope, 415 and 413 and 400
and 422 for what it gives; then the handler. Every answer carries the security headers.
"""

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import Any

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shipmate.errors import ShipmateError
from shipmate.handlers.access import caller_of, check_scope, shows_credentials
from shipmate.handlers.auditing import audited
from shipmate.handlers.body import has_body, read_json, read_query
from shipmate.handlers.errors import HttpError, problem
from shipmate.handlers.house import House
from shipmate.handlers.place import check_place, client_address
from shipmate.handlers.reach import check_reach
from shipmate.handlers.respond import json_answer
from shipmate.handlers.route import NOBODY, Answer, Call, Endpoint, Nothing
from shipmate.handlers.stream import EventStream

log = logging.getLogger(__name__)

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none';"
    " frame-ancestors 'none'; object-src 'none'; manifest-src 'self'; media-src 'self' blob:;"
    " frame-src 'self'; worker-src 'self'; require-trusted-types-for 'script';"
    " trusted-types shipmate shipmate-workers"
)
SECURITY_HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""safety.md 5; `worker-src` for highlighting and the shared event stream."""


class Gate:
    """The ASGI application."""

    def __init__(self, house: House, endpoints: Iterable[Endpoint]) -> None:
        self.house = house
        self.answered = asyncio.Event()
        """Set when the first request has been answered."""
        self.router = Router(_routes(house, endpoints), redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = _Guarded(send)
        try:
            self._admit(Headers(scope=scope))
            # "app" makes the router raise instead of answering in plain text
            await self.router({**scope, "app": self}, receive, answer)
        except ShipmateError as error:
            await answer.instead(problem(error, scope["path"]), scope, receive)
        except HTTPException as error:
            await answer.instead(problem(_plain(error), scope["path"]), scope, receive)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            detail = "The server made an error; its log has the details."
            failed = HttpError(500, "internal", detail)
            await answer.instead(problem(failed, scope["path"]), scope, receive)
        self.answered.set()

    def _admit(self, headers: Headers) -> None:
        if self.house.closing.is_set():
            raise HttpError(503, "closing", "The server is ending.", {"Retry-After": "5"})
        check_place(self.house.place, headers)


class _Guarded:
    """Sends on, with the security headers; knows whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await self._send(message)

    async def instead(self, response: Response, scope: Scope, receive: Receive) -> None:
        """Answer so, unless an answer has begun: then only its end can tell."""
        if not self._begun:
            await response(scope, receive, self)


def _plain(error: HTTPException) -> HttpError:
    code = {404: "not_found", 405: "method"}.get(error.status_code, "http")
    return HttpError(error.status_code, code, f"{error.detail}.", error.headers)


def _routes(house: House, endpoints: Iterable[Endpoint]) -> list[Route]:
    paths: dict[str, dict[str, Endpoint]] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method] = one
    return [
        Route(path, _PathApp(house, methods), methods=sorted(methods))
        for path, methods in sorted(paths.items(), key=_fixed_first)
    ]


def _fixed_first(item: tuple[str, Any]) -> tuple[bool, str]:
    return "{" in item[0], item[0]


class _PathApp:
    """All methods of one path."""

    def __init__(self, house: House, methods: dict[str, Endpoint]) -> None:
        self.house = house
        self.methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        one = self.methods[method]
        call = await _checked(self.house, one, scope, receive)
        if not (one.stream or one.waits):
            answer = await one.handler(call)
            if one.audited:
                await audited(one, call)
            await _response(one, answer)(scope, receive, send)
            return
        with self.house.presence.stays(call.caller.credential, call.caller.user) as ended:
            answer = await _unless(ended, one.handler(call))
            if isinstance(answer, EventStream):
                answer.closes_with(ended)
            await _response(one, answer)(scope, receive, send)


async def _unless(ended: asyncio.Event, handling: Awaitable[Answer]) -> Answer:
    """The answer; 401 when the caller is shut out before there is one."""
    doing, ending = asyncio.ensure_future(handling), asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait((doing, ending), return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
    finally:
        for task in (doing, ending):
            task.cancel()
        await asyncio.gather(doing, ending, return_exceptions=True)
    raise HttpError(401, "unauthorized", "Your access ended meanwhile; what has begun goes on.")


async def _checked(house: House, one: Endpoint, scope: Scope, receive: Receive) -> Call[Any]:
    headers = Headers(scope=scope)
    address = client_address(house.place, scope, headers)
    caller = NOBODY
    if one.scope != "public":
        caller = await caller_of(house.keys, house.users, house.place, headers)
        if caller is NOBODY and shows_credentials(headers):
            house.limits.credentials.take(address, "wrong credentials")
        check_scope(caller, one.scope)
    house.limits.requests.take(caller.credential or address, "requests")
    query = read_query(one.query or Nothing, scope["query_string"])
    given = query
    if one.body is not None or has_body(headers):
        body = await read_json(one.body or Nothing, headers, receive, one.limit)
        given = query if one.body is None else body
    call = Call(house, given, scope["path_params"], caller, headers, address)
    await check_reach(one, call)
    return call


def _response(one: Endpoint, answer: Answer) -> ASGIApp:
    if answer is None or isinstance(answer, msgspec.Struct | bytes):
        return json_answer(answer, status=one.status)
    return answer
