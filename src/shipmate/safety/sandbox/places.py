"""What a command may see of the machine: the system and its tools, not people's own things."""

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu",
    "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/alternatives", "/sys/devices/system",
    "/home/linuxbrew/.linuxbrew",
)  # fmt: skip
IN_HOME = (
    ".pyenv", ".rbenv", ".nodenv", ".goenv", ".asdf", ".nvm", ".volta", ".bun", ".deno", ".fnm",
    ".sdkman", ".jenv", ".rustup", ".cargo/bin", ".cargo/env", ".cargo/registry", ".cargo/git",
    "go/bin", "go/pkg", "go/src", ".local/bin", ".local/lib", ".local/share/uv",
    ".local/share/pipx", ".local/share/mise", ".local/share/pnpm", ".local/share/fnm",
    ".local/share/virtualenvs", ".local/share/pypoetry", ".npm-global", ".yarn", ".gem/ruby",
    ".dotnet", ".nuget/packages", ".m2/repository", ".gradle/wrapper", ".ghcup", ".opam",
    ".stack/programs", ".juliaup", ".julia/packages", ".elan", ".pub-cache", "miniconda3",
    "anaconda3", "miniforge3", "mambaforge", ".proto", ".pixi", ".rye", ".nix-profile",
)  # fmt: skip
"""Tools and the packages they work with, in the home of who runs the command."""
PRIVATE_IN_HOME = (
    ".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".config", ".mozilla", ".netrc",
    ".git-credentials", ".pypirc", ".npmrc", ".pgpass", ".my.cnf", ".vault-token",
    ".password-store", ".local/share/keyrings", ".local/state", ".bash_history", ".zsh_history",
    ".python_history", ".psql_history", ".node_repl_history", ".thunderbird", ".cache/mozilla",
    ".cache/chromium", ".cache/google-chrome", ".cargo/credentials.toml", ".cargo/credentials",
    ".local/share/uv/credentials", ".rye/credentials", ".dotnet/corefx", ".terraform.d",
    ".m2/settings.xml", ".gem/credentials", ".claude", ".codex", ".gemini",
)  # fmt: skip
"""Hidden even where the project is the whole home."""
GIT_CONFIG = ".gitconfig"
CREDENTIAL = re.compile(rb"://[^/\s]*@|extraheader|token|passw|oauth|\[include", re.IGNORECASE)
SOCKETS, COLUMNS = Path("/proc/net/unix"), 7
"""Where the kernel lists them; a name, if there is one, comes after that many columns."""
NO_WAY_IN = stat.S_IROTH
MAX_CONFIG = 65_536


@cache
def system() -> list[Path]:
    return [Path(name) for name in SYSTEM if Path(name).exists()]


def in_home(home: Path) -> list[Path]:
    found = [home / name for name in IN_HOME if os.path.exists(f"{home}/{name}")]  # noqa: PTH110 - faster
    config = home / GIT_CONFIG
    if _harmless(config):
        found.append(config)
    return found


def _harmless(config: Path) -> bool:
    """Who one is to git, and nothing that opens a door."""
    try:
        return config.stat().st_size < MAX_CONFIG and not CREDENTIAL.search(config.read_bytes())
    except OSError:
        return False


@cache
def private(home: Path) -> list[Path]:
    return [home / name for name in PRIVATE_IN_HOME]


def sockets(root: Path) -> Iterator[Path]:
    """Sockets of this machine's programs, wherever they lie: who can see one can knock at it, even
    where nothing can be written. Those of rooms are not listed, as their network is another."""
    with contextlib.suppress(OSError):
        for line in SOCKETS.read_text("utf-8", "surrogateescape").split("\n")[1:]:
            name = "".join(line.split(None, COLUMNS)[COLUMNS:])
            path = root / name  # one without a folder may have been made in the project
            if name and path.is_socket():
                yield path.resolve()


@cache
def on_the_path(names: str, home: Path, barred: tuple[Path, ...]) -> tuple[Path, ...]:
    """Of $PATH the folders where programs are found, if they hold nothing else."""
    found: list[Path] = []
    closed = (*barred, *private(home))
    for name in names.split(os.pathsep):
        folder = Path(name)
        if not folder.is_absolute() or not folder.is_dir():
            continue
        real = folder.resolve()
        if real == Path("/") or any(one.is_relative_to(real) for one in (home, *closed)):
            continue
        if any(real.is_relative_to(one) for one in closed):
            continue
        found.append(folder)
    return tuple(found)


@cache
def unreadable_by_others(folder: Path) -> tuple[Path, ...]:
    """What in `folder` is closed to other users; root's commands do without it as well."""
    return tuple(_closed(folder))


def _closed(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                continue
            path = Path(entry.path)
            if not entry.stat(follow_symlinks=False).st_mode & NO_WAY_IN:
                yield path
            elif entry.is_dir(follow_symlinks=False):
                yield from _closed(path)


def readable_by_others(folder: Path) -> list[Path]:
    """The largest parts of `folder` that hold nothing which is closed to others."""
    closed = unreadable_by_others(folder)
    return list(_open(folder, closed))


def _open(folder: Path, closed: tuple[Path, ...]) -> Iterator[Path]:
    if not any(one.is_relative_to(folder) for one in closed):
        yield folder
    elif folder not in closed and folder.is_dir():
        for entry in sorted(folder.iterdir()):
            yield from _open(entry, closed)
