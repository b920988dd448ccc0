"""Where the server is reached: exact Host and Origin (safety.md 5)."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers

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

    @classmethod
    def at(cls, port: int, public_url: str = "") -> "Place":
        hosts = {f"{name}:{port}": f"http://{name}:{port}" for name in LOOPBACK}
        if port == _DEFAULT_PORT["http"]:
            hosts |= {name: f"http://{name}" for name in LOOPBACK}
        public = urlsplit(public_url)
        if public.netloc:
            hosts[public.netloc.lower()] = f"{public.scheme}://{public.netloc.lower()}"
        url = public_url.rstrip("/") if public.netloc else f"http://127.0.0.1:{port}"
        return cls(hosts, f"shipmate-{public.port or port}", url, public.scheme == "https")


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
