"""Which hosts a command needs, as far as its text and the project's git tell."""

import configparser
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from shipmate.safety.sandbox.proxy import ANY
from shipmate.safety.shell.call import program
from shipmate.safety.shell.readers import JUDGES as READERS

PYTHON = ("pypi.org", "files.pythonhosted.org")
NODE = ("registry.npmjs.org",)
RUST = ("index.crates.io", "static.crates.io", "crates.io", "github.com")
GO = ("proxy.golang.org", "sum.golang.org", "storage.googleapis.com")
REGISTRIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("pip", "pip3", "uv", "uvx", "pipx", "poetry", "pdm", "hatch"), PYTHON),
    **dict.fromkeys(("npm", "npx", "pnpm"), NODE),
    "yarn": ("registry.yarnpkg.com", *NODE),
    "bun": NODE,
    "cargo": RUST,
    "go": GO,
    "gem": ("rubygems.org", "index.rubygems.org"),
    "bundle": ("rubygems.org", "index.rubygems.org"),
    "composer": ("repo.packagist.org", "api.github.com", "codeload.github.com"),
    "mvn": ("repo.maven.apache.org", "repo1.maven.org"),
}
"""Where package managers get their packages from, unless they are told otherwise."""
LOOKING = {"cd", "echo", "printf", "test", "[", "true", "mkdir", "export", "set", "tee"}
URL: re.Pattern[str] = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>|;)]+", re.IGNORECASE)
HOST = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*"
)
MODULE = re.compile(r"-m$|-m=")


def known_host(name: str) -> str:
    """A host as it is written in a list, or "" where it is none."""
    host = name.strip().lower().rstrip(".")
    return host if host == ANY or HOST.fullmatch(host) or ":" in host else ""


def hosts(
    commands: Iterable[Sequence[str]], root: Path, named: Iterable[str] = ()
) -> tuple[str, ...]:
    """Those named, and what each of the simple commands needs; `*` where one may need any."""
    found = {host for name in named if (host := known_host(name))}
    for words in commands:
        found.update(_needed_by(words, root))
    if ANY in found or not found:
        return (ANY,)
    return tuple(sorted(found))


def _needed_by(words: Sequence[str], root: Path) -> Iterator[str]:
    name = program(words[0])
    urls = [host for word in words for host in _hosts_in(word)]
    yield from urls
    if name == "git":
        yield from () if urls else _remotes(root)
    elif re.fullmatch(r"python[0-9.]*", name) and len(words) > 2 and words[1] == "-m":
        yield from REGISTRIES.get(words[2], (ANY,))
    elif name in REGISTRIES:
        yield from REGISTRIES[name]
    elif name not in READERS and name not in LOOKING and not urls:
        yield ANY


def _hosts_in(word: str) -> Iterator[str]:
    for match in URL.finditer(word):
        try:
            host = urlsplit(match[0]).hostname
        except ValueError:
            host = None
        yield known_host(host or "") or ANY


def _remotes(root: Path) -> Iterator[str]:
    """The hosts of the project's remotes; those that speak SSH are not reached through a proxy."""
    try:
        text = (root / ".git" / "config").read_text("utf-8", "replace")
    except OSError:
        return
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string("\n".join(line.strip() for line in text.split("\n")))
    except configparser.Error:
        return
    for section in parser.sections():
        if section.startswith("remote ") and (url := parser.get(section, "url", fallback="")):
            yield from _hosts_in(url)
