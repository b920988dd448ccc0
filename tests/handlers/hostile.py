"""Hostile requests, made from the route table: a new route is tried by itself."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

import msgspec

from shipmate.handlers.errors import PROBLEM
from shipmate.handlers.gate import SECURITY_HEADERS
from shipmate.handlers.limits import Bucket, Limits
from shipmate.handlers.route import Endpoint
from tests.handlers.client import HOST, Answered, ask
from tests.handlers.fitting import body_of, query_of, target
from tests.handlers.house import Whole

Pair = tuple[str, str]
JSON: Pair = ("content-type", "application/json")
HOSTS = (
    *("evil.test", "127.0.0.1", "127.0.0.1:8766", "127.0.0.1:8765.evil.test", "127.0.0.1:8765:80"),
    *("LOCALHOST:1", "user@127.0.0.1:8765", "[::1]", "[::1]:1", "[::]:8765", "0.0.0.0:8765"),
    *("localhost.:8765", "127.1:8765", "2130706433:8765", "127.0.0.1:08765", "127.0.0.1:8765/"),
)
ORIGINS = (
    *(
        "null",
        "https://evil.test",
        f"https://{HOST}",
        "http://127.0.0.1:1",
        "*",
        "http://localhost",
    ),
    *(
        f"http://a.{HOST}",
        f"http://{HOST}.evil.test",
        f"http://x@{HOST}",
        f"http://{HOST}/",
        "file://",
    ),
)
KINDS = (
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "json",
    "text/json",
)
METHODS = ("TRACE", "OPTIONS", "PUT", "CONNECT", "PROPFIND", "get")
TAILS = (
    "/",
    "//",
    "/.",
    "/..",
    "/%2e%2e",
    ";x",
    "/%00",
    "%2f",
    "/../../etc/passwd",
    "/" + "a" * 9000,
)
BODIES = (
    *(
        b"[]",
        b"null",
        b"1",
        b'"x"',
        b"{",
        b'{"a":',
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b"{}x",
    ),
    *(b'{"a":NaN}', b'{"a":1e999}', b'{"a":"\\ud800"}', b'{"__proto__":{}}', b"[" * 5000),
    *(
        b'{"a":' * 2000,
        b"{" + b'"a":1,' * 3 + b'"a":1}',
        b'{"session":3}',
        b'{"a":' + b"9" * 500 + b"}",
    ),
)
QUERIES = ("x=1", "session=a&session=b", "%ff=1", "a[]=1", "limit=-1&limit=2", "%00=%00")


@dataclass
class Counts:
    routes: int = 0
    requests: int = 0
    let_in: list[str] = field(default_factory=list[str])
    broken: list[str] = field(default_factory=list[str])
    """Answers 500, or refusals that are no problem document with the security headers."""
    least: int = 10**9
    """Requests of the route that got the fewest."""


@dataclass(frozen=True)
class Try:
    what: str
    method: str
    target: str
    headers: list[Pair]
    body: bytes = b""
    must_fail: bool = True


@dataclass
class Credentials:
    good: list[Pair]
    bad: list[list[Pair]]
    """None of these may do anything that needs leave."""


async def credentials(house: Whole) -> Credentials:
    async def signed_in() -> tuple[Pair, Pair]:
        made = await house.keys.exchange(house.keys.invite())
        assert made
        return ("cookie", f"shipmate-8765={made.cookie}"), ("x-shipmate-token", made.header)

    cookie, header = await signed_in()
    other_cookie, other_header = await signed_in()
    out_cookie, out_header = await signed_in()
    gone = house.keys.signed_in(out_cookie[1].partition("=")[2], out_header[1])
    assert gone
    await house.keys.sign_out(gone.id)
    token, revoked = await house.keys.create_token("gone", ["admin"])
    await house.keys.revoke(token.id)
    value = cookie[1].partition("=")[2]
    bad: list[list[Pair]] = [
        *([], [cookie], [header], [cookie, other_header], [other_cookie, header]),
        *([out_cookie, out_header], [("authorization", f"Bearer {revoked}")]),
        [cookie, ("x-shipmate-token", value)],
        [("cookie", f"shipmate-9999={value}"), header],
        [("cookie", "shipmate-8765="), ("x-shipmate-token", "")],
        *(
            [("authorization", text)]
            for text in ("Bearer ", "Basic dTpw", "Bearer sm_no", "Bearer")
        ),
        [("authorization", f"Bearer {header[1]}")],
        [cookie, header, ("authorization", "Bearer sm_no")],
    ]
    return Credentials([cookie, header], bad)


def tries(  # noqa: C901 - a loop for each kind
    one: Endpoint, with_: Credentials
) -> Iterator[Try]:
    path, method = target(one), one.method
    body = msgspec.json.encode(body_of(one)) if one.body is not None else b""
    query = urlencode(query_of(one))
    plain = [JSON] if body else []
    whole = f"{path}?{query}" if query else path
    guarded = one.scope != "public"
    for headers in with_.bad if guarded else ():
        yield Try("credentials", method, whole, [*headers, *plain], body)
    for host in HOSTS:
        yield Try(f"host {host}", method, whole, [*with_.good, *plain, ("host", host)], body)
    for origin in ORIGINS:
        yield Try(
            f"origin {origin}", method, whole, [*with_.good, *plain, ("origin", origin)], body
        )
    for kind in KINDS:
        yield Try(kind, method, whole, [*with_.good, ("content-type", kind)], body or b"a=1")
    for other in METHODS:
        yield Try(other, other, whole, [*with_.good, ("x-http-method-override", method)])
    for tail in TAILS:
        yield Try(f"path {tail[:20]}", method, path + tail, [*plain], body, must_fail=guarded)
    for data in BODIES:
        headers = [*with_.good, JSON] if one.body is not None else [JSON]
        yield Try(f"body {data[:20]!r}", method, path, headers, data, must_fail=False)
    for text in QUERIES:
        yield Try(f"query {text}", method, f"{path}?{text}", [*with_.good, *plain], body)


async def attack(house: Whole, endpoints: tuple[Endpoint, ...]) -> Counts:
    """Try all of them; nothing may be let in, nothing may break."""
    plenty = Bucket(10**9, 1)
    house.gate.house.limits = Limits(plenty, plenty, plenty, plenty)
    counts, with_ = Counts(), await credentials(house)
    for one in endpoints:
        counts.routes += 1
        tried = Counter[str]()
        for attempt in tries(one, with_):
            tried[one.path] += 1
            answer = await ask(
                house.gate,
                attempt.method,
                attempt.target,
                headers=attempt.headers,
                body=attempt.body,
            )
            _count(counts, f"{one.method} {one.path}: {attempt.what}", attempt, answer)
        counts.requests += tried.total()
        counts.least = min(counts.least, tried.total())
    return counts


def _count(counts: Counts, name: str, attempt: Try, answer: Answered) -> None:
    if answer.status < 400:
        if attempt.must_fail:
            counts.let_in.append(f"{name} -> {answer.status}")
        return
    try:
        kind = answer.headers.get("content-type", "")
        told = {"code", "detail"} <= set(answer.json) and kind == PROBLEM
    except (msgspec.DecodeError, TypeError):
        told = b"<!doctype html>" in answer.body  # a page for a person, without credentials
    safe = all(key in answer.headers for key in SECURITY_HEADERS)
    if answer.status == 500 or not (told and safe):
        counts.broken.append(f"{name} -> {answer.status} {answer.body[:80]!r}")
