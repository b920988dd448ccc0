"""`[github]`: where GitHub is, and what signs in there."""

from dataclasses import dataclass
from typing import Final

import msgspec

from shipmate.safety.secrets import SecretRef
from shipmate.safety.urls import RefusedUrl, Url, read_url

PUBLIC: Final = "https://api.github.com"


class GitHubSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Section `[github]` of the configuration."""

    base_url: str = PUBLIC
    """Of the API. GitHub Enterprise Server: `https://HOST/api/v3`."""
    token: SecretRef | None = None
    """Absent: `GITHUB_TOKEN` or `GH_TOKEN` (elsewhere than at github.com `GH_ENTERPRISE_TOKEN`),
    the token pasted in the settings, or what `gh auth token` prints."""

    def __post_init__(self) -> None:
        place_of(self.base_url)


@dataclass(frozen=True, slots=True)
class Place:
    """A GitHub, as its configured address gives it."""

    api: str
    """The beginning of the addresses of its API, without a slash at the end."""
    web: str
    """The beginning of those of its pages and repositories."""
    host: str
    """Of its pages, with the port where it is not the scheme's own."""
    exempt: frozenset[str]
    """The only hosts that are asked; they may be of a private network."""

    @property
    def public(self) -> bool:
        return self.host == "github.com"


class _Anywhere(frozenset[str]):
    """The host is the user's own choice, whatever network it is of."""

    def __contains__(self, _host: object) -> bool:
        return True


def place_of(base_url: str) -> Place:
    """Raises `ValueError` for what is no address of a GitHub."""
    try:
        url = read_url(base_url.rstrip("/"), _Anywhere())
    except RefusedUrl as refused:
        raise ValueError(f"base_url is the address of GitHub's API: {refused}") from None
    if "?" in url.target:
        raise ValueError("base_url has no query: https://github.example.com/api/v3")
    name = url.host.removeprefix("api.") if url.target == "/" else url.host
    host = url.place.replace(url.host, name, 1)
    return Place(
        api=str(url).rstrip("/"),
        web=f"{url.scheme}://{host}",
        host=host,
        exempt=frozenset({_named(url, url.host), _named(url, name)}),
    )


def _named(url: Url, host: str) -> str:
    return f"[{host}]:{url.port}" if ":" in host else f"{host}:{url.port}"
