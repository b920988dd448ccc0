"""The client: what it connects to, what it follows, how much it takes."""

import asyncio
import gzip
import random
import zlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from shipmate.network.client import Client
from shipmate.network.request import NetworkError, Request
from shipmate.safety.urls import RefusedUrl, read_url
from tests.network.answers import PUBLIC, Names, refused
from tests.site import Site

FUZZED = 10_000


@pytest.fixture
async def client() -> AsyncGenerator[Client]:
    made = Client()
    yield made
    await made.aclose()


def here(site: Site) -> Request:
    return Request(exempt={f"127.0.0.1:{site.port}"})


async def fetch(client: Client, url: str, request: Request | None = None) -> tuple[int, bytes]:
    request = request or Request()
    async with client.request(read_url(url, request.exempt), request) as answer:
        return answer.status, await answer.read(1_000_000)


# --- where it connects ------------------------------------------------------------------


async def test_a_name_that_turns_private_between_two_requests_is_not_followed_there() -> None:
    """DNS rebinding: the canary at the private address is never asked."""
    with Site({"/": {"body": "public"}}, PUBLIC) as public:
        with Site({"/": {"body": "secret"}}, port=public.port) as canary:
            names = Names([PUBLIC], ["127.0.0.1"])
            client = Client(resolver=names, refused=refused)
            url = f"http://rebind.example:{public.port}/"
            assert await fetch(client, url) == (200, b"public")
            with pytest.raises(NetworkError, match=r"127\.0\.0\.1, this machine"):
                await fetch(client, url)
            await client.aclose()
        assert (names.asked, len(public.hits), canary.hits) == (["rebind.example"] * 2, 1, [])


async def test_a_name_is_looked_up_once_so_that_what_was_judged_is_connected_to() -> None:
    with Site({"/": {"body": "public"}}, PUBLIC) as public:
        with Site(port=public.port) as canary:
            names = Names([PUBLIC], ["127.0.0.1"])
            client = Client(resolver=names, refused=refused)
            assert await fetch(client, f"http://rebind.example:{public.port}/") == (200, b"public")
            await client.aclose()
        assert (names.asked, canary.hits) == (["rebind.example"], [])


@pytest.mark.parametrize("answer", [["127.0.0.1"], [PUBLIC, "127.0.0.1"], ["10.1.2.3"], ["::1"]])
async def test_one_private_address_among_the_answers_refuses_the_name(answer: list[str]) -> None:
    with Site(address=PUBLIC) as public:
        client = Client(resolver=Names(answer), refused=refused)
        with pytest.raises(NetworkError, match="It stands for"):
            await fetch(client, f"http://name.example:{public.port}/")
        await client.aclose()
    assert public.hits == []


async def test_the_socket_is_judged_where_the_name_was_not() -> None:
    """An address in a URL is never looked up; the door at the socket holds alone."""
    allowed = {"127.0.0.1"}
    with Site({"/": {"body": "x"}}) as site:
        client = Client(refused=lambda ip: "" if ip in allowed else "private")
        url = read_url(f"http://127.0.0.1:{site.port}/", {"127.0.0.1"})
        async with client.request(url) as answer:
            assert answer.status == 200
        allowed.clear()
        with pytest.raises(NetworkError, match="private"):
            async with client.request(url):
                pass
        await client.aclose()
    assert len(site.hits) == 1


async def test_a_host_of_the_user_is_exempt_for_who_may_go_there_alone(client: Client) -> None:
    """Also while a connection to it is kept open."""
    with Site({"/": {"body": "mine"}}) as site:
        assert await fetch(client, f"{site.url}/", here(site)) == (200, b"mine")
        url = read_url(f"{site.url}/", {"127.0.0.1"})
        with pytest.raises(NetworkError, match="this machine"):
            async with client.request(url):
                pass
    assert len(site.hits) == 1


async def test_a_proxy_of_the_environment_is_not_used(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Site({"/": {"body": "direct"}}) as site, Site() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert await fetch(client, f"{site.url}/", here(site)) == (200, b"direct")
    assert proxy.hits == []


async def test_a_proxy_the_user_configured_is_used_and_private_places_stay_refused() -> None:
    with Site({"http://page.example/": {"body": "by proxy"}}) as proxy:
        client = Client(proxy=lambda: proxy.url)
        assert await fetch(client, "http://page.example/") == (200, b"by proxy")
        with pytest.raises(RefusedUrl):
            await fetch(client, "http://10.0.0.1/")
        await client.aclose()


# --- redirects --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "http://127.0.0.1:{port}/secret",
        "//127.0.0.1:{port}/secret",
        "http://a@127.0.0.1:{port}/secret",
        "http://2130706433:{port}/secret",
        "http://[::1]:{port}/secret",
        "http://[::1/",
        "http://private.example:{port}/secret",
    ],
)
async def test_each_hop_is_judged_again(target: str) -> None:
    with Site(address=PUBLIC) as public, Site(port=public.port) as canary:
        target = target.replace("{port}", str(public.port))
        public.routes["/"] = {"status": 302, "headers": {"Location": target}}
        client = Client(resolver=Names([PUBLIC], ["127.0.0.1"]), refused=refused)
        with pytest.raises(NetworkError):
            await fetch(client, f"http://public.example:{public.port}/", Request(elsewhere=True))
        await client.aclose()
    assert (public.paths, canary.hits) == (["/"], [])


async def test_a_redirect_on_the_same_host_is_followed_and_the_hops_are_told(
    client: Client,
) -> None:
    routes: dict[str, Any] = {
        "/a": {"status": 301, "headers": {"Location": "b?x=1#top"}},
        "/b": {"body": "there"},
    }
    with Site(routes) as site:
        url = read_url(f"{site.url}/a", {"127.0.0.1"})
        async with client.request(url, here(site)) as answer:
            assert await answer.read(100) == b"there"
            assert (str(answer.url), answer.hops) == (f"{site.url}/b?x=1", (f"{site.url}/a",))


async def test_a_redirect_to_another_host_is_told_and_not_followed() -> None:
    with Site(address=PUBLIC) as site:
        site.routes["/"] = {"status": 302, "headers": {"Location": "http://other.example/x?q=1"}}
        client = Client(resolver=Names([PUBLIC]), refused=refused)
        async with client.request(read_url(f"http://first.example:{site.port}/")) as answer:
            assert str(answer.elsewhere) == "http://other.example/x?q=1"
        await client.aclose()
    assert len(site.hits) == 1


async def test_what_is_bound_to_a_host_is_left_behind_at_another_one(client: Client) -> None:
    with Site({"/": {"body": "ok"}}) as other, Site() as site:
        site.routes["/"] = {"status": 307, "headers": {"Location": f"{other.url}/"}}
        request = Request(
            method="POST",
            body=b"secret",
            headers={"Authorization": "Bearer key", "Cookie": "a=b", "Content-Type": "text/plain"},
            exempt={"127.0.0.1"},
            elsewhere=True,
        )
        assert await fetch(client, f"{site.url}/", request) == (200, b"ok")
    assert site.hits[0].body == b"secret"
    (hit,) = other.hits
    assert (hit.method, hit.body) == ("GET", b"")
    assert not {"authorization", "cookie", "content-type"} & set(hit.headers)


async def test_redirects_without_end_are_given_up(client: Client) -> None:
    with (
        Site({"/": {"status": 302, "headers": {"Location": "/"}}}) as site,
        pytest.raises(NetworkError, match="more than 10 times"),
    ):
        await fetch(client, f"{site.url}/", here(site))
    assert len(site.hits) == 11


async def test_a_cookie_is_not_kept(client: Client) -> None:
    with Site({"/": {"headers": {"Set-Cookie": "id=1"}}}) as site:
        for _ in range(2):
            await fetch(client, f"{site.url}/", here(site))
    assert all("cookie" not in hit.headers for hit in site.hits)


# --- how much ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"hello" * 1000, mtime=0)),
        ("x-gzip", gzip.compress(b"hello" * 1000, mtime=0)),
        ("deflate", zlib.compress(b"hello" * 1000)),
        ("deflate", zlib.compress(b"hello" * 1000)[2:-4]),
        ("gzip", b"hello" * 1000),
        ("identity", b"hello" * 1000),
    ],
    ids=["gzip", "x-gzip", "deflate", "deflate without a head", "gzip that is none", "identity"],
)
async def test_an_encoding_is_taken_off_and_a_wrong_label_not_believed(
    client: Client, encoding: str, body: bytes
) -> None:
    with Site({"/": {"headers": {"Content-Encoding": encoding}, "body": body}}) as site:
        assert await fetch(client, f"{site.url}/", here(site)) == (200, b"hello" * 1000)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
async def test_an_encoding_that_was_not_asked_for_is_named(client: Client, encoding: str) -> None:
    with (
        Site({"/": {"headers": {"Content-Encoding": encoding}, "body": b"\x0b\x05"}}) as site,
        pytest.raises(NetworkError, match="unsupported encoding"),
    ):
        await fetch(client, f"{site.url}/", here(site))


async def test_a_bomb_is_left_after_the_limit(client: Client) -> None:
    route = {"headers": {"Content-Encoding": "gzip"}, "generate": "gzip_zeros:2000000000"}
    with Site({"/": route}) as site:
        async with client.request(read_url(f"{site.url}/", {"127.0.0.1"}), here(site)) as answer:
            assert len(await answer.read(100_000)) == 100_000
            assert answer.cut == "size"


async def test_a_dripping_body_ends_with_the_time_and_what_came_is_given(client: Client) -> None:
    with Site({"/": {"generate": "drip:0.05:3600"}}) as site:
        request = Request(exempt={"127.0.0.1"}, seconds=0.5)
        async with client.request(read_url(f"{site.url}/", {"127.0.0.1"}), request) as answer:
            got = await answer.read(1000)
        assert answer.cut == "time"
        assert got.strip(b".") == b""
        assert got


async def test_damaged_and_cut_off_bodies_are_told_apart(client: Client) -> None:
    packed = gzip.compress(random.Random(1).randbytes(5000))
    broken = packed[:2000] + b"\0" * 100 + packed[2100:]
    for body, cut in ((packed, ""), (packed[:3000], "damaged"), (broken, "damaged")):
        route = {"headers": {"Content-Encoding": "gzip"}, "body": body}
        with Site({"/": route}) as site:
            url = read_url(f"{site.url}/", {"127.0.0.1"})
            async with client.request(url, here(site)) as answer:
                await answer.read(100_000)
            assert answer.cut == cut


async def test_a_server_that_hangs_up_is_told_in_words(client: Client) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        with pytest.raises(NetworkError, match="broke the connection off"):
            await fetch(client, f"http://127.0.0.1:{port}/", Request(exempt={"127.0.0.1"}))
    with pytest.raises(NetworkError, match="cannot be reached"):
        await fetch(client, f"http://127.0.0.1:{port}/", Request(exempt={"127.0.0.1"}))


async def test_a_head_without_end_is_refused(client: Client) -> None:
    headers = {f"X-{number}": "y" * 8000 for number in range(300)}
    with Site({"/": {"headers": headers}}) as site, pytest.raises(NetworkError):
        await fetch(client, f"{site.url}/", here(site))


# --- whatever the spelling --------------------------------------------------------------

HOSTS = (
    "127.0.0.1 localhost LOCALHOST 127.1 0 0.0.0.0 2130706433 0x7f000001 0177.0.0.1 0x7f.0.0.1 "
    "[::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [64:ff9b::7f00:1] [0:0:0:0:0:0:0:1] 127.0.0.1. "
    "[::127.0.0.1] 127.0.0.0x1 127\u30020\uff0e0\uff611 \u24c1ocal\u24d7ost "
    "name.example a.b.c.example xn--a.example example.com localhost.localdomain [2002:7f00:1::] "
    "\uff11\uff12\uff17.0.0.1 127.0.0.1.nip.io 017700000001 00000177.0.0.1 127.000.000.001"
).split()
BEFORE = [
    "",
    "a@",
    "a:b@",
    "example.com@",
    "example.com\\@",
    "x%40",
    "\t",
    " ",
    "%",
    "\u00ad",
    "#@",
]
AFTER = ["/", "", "/x?q=1", "#a", "?a", "\\", "/..//", "%00", "%2f", ".", "\n", "@example.com/"]
SCHEMES = ["http://", "HTTP://", "http:", "http:/", "http:///", "http:\\\\", "//", " http://"]


def fuzzed(random_: random.Random, port: int) -> str:
    text = (
        random_.choice(SCHEMES[:1] * 6 + SCHEMES)
        + random_.choice([""] * 6 + BEFORE)
        + random_.choice([*HOSTS, *["name.example", "a.b.c.example"] * 8])
        + random_.choice([f":{port}"] * 8 + [f":0{port}", f":{port}:", ":", ""])
        + random_.choice(AFTER[:3] * 3 + AFTER)
    )
    for _ in range(random_.choice([0, 0, 0, 1, 2])):
        at = random_.randrange(len(text) + 1)
        piece = random_.choice(["@", ":", "/", "\\", ".", "%", "[", "]", "\u3002", "0", "x", "\t"])
        text = text[:at] + piece + text[at + random_.randrange(2) :]
    return text


async def test_no_spelling_of_this_machine_is_ever_asked() -> None:
    """Every name stands for loopback here, and a canary listens there."""
    with Site() as canary:
        client = Client(resolver=Names(["127.0.0.1", "::1"]))
        drawn, let_through = random.Random(20), 0
        for _ in range(FUZZED):
            try:
                url = read_url(fuzzed(drawn, canary.port))
            except RefusedUrl:
                continue
            let_through += 1
            with pytest.raises(NetworkError):
                async with client.request(url):
                    pass
        await client.aclose()
    assert let_through > FUZZED / 20  # names are let through to the guard at connect time
    assert canary.hits == []
