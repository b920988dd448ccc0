"""Reading what a request gives: JSON bodies and queries, strictly."""

from collections.abc import Iterable
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive

from shipmate.handlers.errors import HttpError

T = TypeVar("T")


async def read_json(wanted: type[T], headers: Headers, receive: Receive, limit: int) -> T:
    """The body as `wanted`. 415: not JSON; 413: too large; 400: broken JSON; 422: wrong fields."""
    check_content_type(headers)
    data = await read_body(headers, receive, limit)
    try:
        return msgspec.json.decode(data or b"{}", type=wanted)
    except msgspec.ValidationError as error:
        raise HttpError(422, "invalid", f"The body does not fit: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HttpError(400, "bad_json", f"The body is not JSON: {error}") from error


def given_fields(change: msgspec.Struct) -> dict[str, Any]:
    """What a change names, by field. 422 when that is nothing."""
    fields = {k: v for k, v in msgspec.structs.asdict(change).items() if v is not msgspec.UNSET}
    if not fields:
        raise changes_nothing()
    return fields


def changes_nothing() -> HttpError:
    return HttpError(422, "invalid", "The body does not fit: it changes nothing.")


def has_body(headers: Headers) -> bool:
    """There is a body, or a claim about its kind; then it is checked."""
    length = headers.get("content-length", "0")
    return length != "0" or "transfer-encoding" in headers or "content-type" in headers


def check_content_type(headers: Headers) -> None:
    """Only `application/json`: what a form or a plain request of another site can never send."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpError(415, "not_json", "Send the body as Content-Type: application/json.")


async def read_body(headers: Headers, receive: Receive, limit: int) -> bytes:
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HttpError(400, "disconnected", "The request ended before its body did.")
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def _too_large(limit: int) -> HttpError:
    return HttpError(413, "too_large", f"The body is larger than {limit:,} bytes.")


def read_query(wanted: type[T], query: bytes) -> T:
    """The query as `wanted`. 422: a wrong, unknown or repeated field."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict")
        return msgspec.convert(_once(pairs), wanted, strict=False)
    except (ValueError, msgspec.ValidationError) as error:
        raise HttpError(422, "invalid", f"The query does not fit: {error}") from error


def _once(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"`{name}` is given twice")
        fields[name] = value
    return fields
