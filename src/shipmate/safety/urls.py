"""Reads a URL in exactly one way, or says why not. Pure: no name is looked up.

What two readers could take for two different places is refused, not repaired: a name before an
`@`, a backslash, a tab, an address in octal. What comes out is plain ASCII, and it is what is
shown, approved and requested.
"""

import ipaddress
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal
from urllib.parse import quote, urljoin

from shipmate.safety.net import refused_address

MOST: Final = 8_192
"""Characters of a URL."""
_PORTS: Final = {"http": 80, "https": 443}
_SHAPE: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*):(//)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.S
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NAME: Final = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.(?!\Z)|\Z))+")
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_KEPT: Final = "".join(chr(c) for c in range(33, 127) if chr(c) not in '"<>`\\')
_OF_THIS_NETWORK: Final = tuple(
    "localhost localdomain local internal intranet lan home.arpa corp home private svc".split()
)
"""Names that a public resolver does not answer for (RFC 6761, 6762, 8375; ICANN's `.internal`),
or that networks use among themselves."""
_ANY_ADDRESS: Final = tuple(
    "nip.io sslip.io xip.io localtest.me lvh.me vcap.me lacolhost.com rbndr.us 1u.ms"
    " traefik.me".split()
)
"""Public names that stand for whatever private address one likes."""
BAD_PORTS: Final = frozenset(
    map(
        int,
        "1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111"
        " 113 115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532"
        " 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060"
        " 5061 6000 6379 6566 6665 6666 6667 6668 6669 6679 6697 10080 11211".split(),
    )
)
"""Ports of other services, as browsers block them (the Fetch standard), Redis and memcached."""


class RefusedUrl(ValueError):  # noqa: N818 - it is what was refused
    """A URL that is not requested, and why. `rule` names the reason in one word."""

    def __init__(self, reason: str, rule: str) -> None:
        super().__init__(reason)
        self.rule = rule


@dataclass(frozen=True)
class Url:
    """A URL that was read. `host` is a lower-case ASCII name without a dot at its end, or an
    address in its usual spelling, IPv6 without brackets."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    target: str
    """Path and query, as sent; begins with a slash."""

    @cached_property
    def origin(self) -> str:
        """Scheme, host and port as they are written in a URL."""
        return f"{self.scheme}://{self.place}"

    @cached_property
    def place(self) -> str:
        """Host, and the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return self.origin + self.target


def read_url(text: str, exempt: AbstractSet[str] = frozenset()) -> Url:
    """The URL, or `RefusedUrl`. Hosts in `exempt` (`name`, or `name:port`; IPv6 in brackets with a
    port) may be of a private network; nothing else about them is forgiven."""
    url = _read(text)
    if not is_exempt(url, exempt):
        _check_place(url)
    return url


@dataclass(frozen=True, slots=True)
class UrlVerdict:
    """What would become of a request: refused, or the user is asked."""

    verdict: Literal["ask", "refuse"]
    reason: str = ""
    rule: str = ""
    url: str = ""
    """As it would be shown and requested; empty when it cannot be read."""


def check_url(text: str, addresses: Sequence[str] = (), redirect_to: str = "") -> UrlVerdict:
    """The verdict on a URL whose name stands for `addresses`, if those are known, and whose
    server answers with a redirect, if it does."""
    shown = ""
    try:
        url = read_url(text)
        shown = str(url)
        for address in addresses:
            check_answer(url.host, address)
        if redirect_to:
            read_url(urljoin(shown, redirect_to))
    except RefusedUrl as refused:
        return UrlVerdict("refuse", str(refused), refused.rule, shown)
    return UrlVerdict("ask", url=shown)


def check_answer(host: str, address: str) -> None:
    """Raise `RefusedUrl` where a name stands for an address that is not of the public network."""
    if reason := refused_address(address):
        raise RefusedUrl(f"{host} stands for {address}: {reason}.", "address")


def is_exempt(url: Url, exempt: AbstractSet[str]) -> bool:
    bracketed = f"[{url.host}]" if ":" in url.host else url.host
    return url.host in exempt or f"{bracketed}:{url.port}" in exempt


def _read(text: str) -> Url:
    text = text.strip(" \t\r\n")
    if len(text) > MOST:
        raise RefusedUrl(f"A URL has at most {MOST:,} characters.", "too_long")
    if _CONTROL.search(text):
        raise RefusedUrl("There is a control character or a line end in it.", "control")
    found = _SHAPE.fullmatch(text)
    scheme = found[1].lower() if found else ""
    if not found or scheme not in ("http", "https"):
        raise RefusedUrl(
            "Only addresses that begin with http:// or https:// are requested.", "scheme"
        )
    _, slashes, authority, path, query, _ = found.groups(default="")
    if "\\" in authority + path:
        raise RefusedUrl("There is a backslash in it, which is read in two ways.", "backslash")
    if not slashes or not authority:
        raise RefusedUrl(f"After {scheme}: come two slashes and the name of a host.", "no_host")
    host, port = _split(authority)
    target = quote((path or "/") + query.replace("\\", "%5C"), safe=_KEPT)
    return Url(scheme, _host(host), _port(port, scheme), target)  # pyright: ignore[reportArgumentType]


def _split(authority: str) -> tuple[str, str]:
    if "@" in authority or "\uff20" in authority:
        raise RefusedUrl("There is a user name (an @) before the host; leave it out.", "userinfo")
    if authority.startswith("["):
        host, closed, rest = authority.partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise RefusedUrl("The brackets of an IPv6 address are not right.", "address")
        return host + closed, rest.removeprefix(":")
    host, _, port = authority.partition(":")
    return host, port


def _port(text: str, scheme: str) -> int:
    if not text:
        return _PORTS[scheme]
    if not (text.isascii() and text.isdigit()) or len(text) > 5 or not 0 < int(text) < 65_536:
        raise RefusedUrl(f"{text[:40]!r} is no port; ports go from 1 to 65535.", "port")
    return int(text)


def _host(text: str) -> str:
    if text.startswith("["):
        return _ipv6(text[1:-1])
    if "%" in text:
        raise RefusedUrl("The name of a host is written without percent signs.", "host")
    name = (text if text.isascii() else _ascii(text)).lower().removesuffix(".")
    last = name.rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        return _ipv4(name)
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise RefusedUrl(f"{text[:80]!r} is no name of a host.", "host")
    return name


def _ascii(text: str) -> str:
    """A name in another script, as the name servers know it."""
    import idna  # its tables are large, and such names are rare

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode()
    except (idna.IDNAError, UnicodeError) as error:
        raise RefusedUrl(f"{text[:80]!r} is no name of a host: {error}.", "host") from None


def _ipv4(text: str) -> str:
    """Only the usual spelling: what looks like `127.1` or `0177.0.0.1` is another address to
    every second reader."""
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        reason = f"{text[:80]!r} is not how an address is written; write four plain numbers."
        raise RefusedUrl(reason, "address") from None


def _ipv6(text: str) -> str:
    try:
        found = ipaddress.IPv6Address(text)
    except ValueError:
        raise RefusedUrl(f"{text[:80]!r} is no IPv6 address.", "address") from None
    if found.scope_id is not None:
        raise RefusedUrl("An address of one network card only is not requested.", "address")
    return str(found.ipv4_mapped or found)


def _check_place(url: Url) -> None:
    if url.port in BAD_PORTS:
        raise RefusedUrl(f"Port {url.port} belongs to another service than the web.", "port")
    if _is_address(url.host):
        if reason := refused_address(url.host):
            raise RefusedUrl(f"{url.host} is {reason}.", "address")
        return
    if _below(url.host, _ANY_ADDRESS):
        raise RefusedUrl(f"{url.host} may stand for any private address.", "name")
    if "." not in url.host or _below(url.host, _OF_THIS_NETWORK):
        raise RefusedUrl(f"{url.host} is a name of this machine or its network.", "name")


def _is_address(host: str) -> bool:
    return ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def _below(host: str, names: tuple[str, ...]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in names)
