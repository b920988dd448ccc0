"""Where the server is reached: exact Host and Origin (safety.md 5)."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from shipmate.handlers.errors import HttpError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server is reached: the hosts that are right, and the origin of each."""

    origins: dict[str, str]
    """Host header to origin."""
    cookie: str
    """Name of the cookie; it carries the port, as cookies do not tell ports apart."""
    url: str
    """What to open in a browser, without a slash at the end."""
    secure: bool = False
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Whose word on the client's address is taken."""

    @classmethod
    def at(
        cls, port: int, public_url: str = "", url: str = "", proxies: Iterable[str] = ()
    ) -> "Place":
        """Reached on loopback, at the `url` of another address it listens on, and as
        `public_url`."""
        hosts = {f"{name}:{port}": f"http://{name}:{port}" for name in LOOPBACK}
        if port == _DEFAULT_PORT["http"]:
            hosts |= {name: f"http://{name}" for name in LOOPBACK}
        if url:
            hosts[urlsplit(url).netloc] = url
        public = urlsplit(public_url)
        if public.netloc:
            hosts[public.netloc.lower()] = f"{public.scheme}://{public.netloc.lower()}"
        url = public_url.rstrip("/") if public.netloc else url or f"http://127.0.0.1:{port}"
        trusted = tuple(ip_network(one) for one in proxies)
        name = f"shipmate-{public.port or port}"
        return cls(hosts, name, url, public.scheme == "https", trusted)


def check_place(place: Place, headers: Headers) -> None:
    """421 for a Host that is not ours (DNS rebinding), 403 for another site's Origin."""
    hosts = headers.getlist("host")
    origin = place.origins.get(hosts[0].lower()) if len(hosts) == 1 else None
    if origin is None:
        raise HttpError(
            421, "wrong_host", "This server does not answer under that host name and port."
        )
    if any(value.lower() != origin for value in headers.getlist("origin")):
        raise HttpError(403, "wrong_origin", "Another site may not call this server.")


def client_address(place: Place, scope: Scope, headers: Headers) -> str:
    """Where a request comes from. `X-Forwarded-For` is believed as far as trusted proxies have
    written it: from the right, up to the first address that is none of theirs."""
    found: str = scope["client"][0] if scope.get("client") else ""
    given = [
        part.strip() for line in headers.getlist("x-forwarded-for") for part in line.split(",")
    ]
    while given and _is_trusted(place, found):
        found = given.pop()
    return found


def _is_trusted(place: Place, address: str) -> bool:
    try:
        return any(ip_address(address) in network for network in place.proxies)
    except ValueError:
        return False
