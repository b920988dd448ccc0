"""The cases of `tests/cases/path.jsonl`: a project on disk, then an operation on a path."""

import json
import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases/path.jsonl").read_text().split("\n")
    if line
]

LINES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "path_lines.jsonl").read_text().split("\n")
    if line
]
"""Paths of the same kinds, written from the rules before they were tried: `accept` is for the mode
in which changes ask."""


@dataclass
class Place:
    """A project with a neighbour `outside` that holds a secret, and a data directory."""

    base: Path
    data: Path = field(init=False)

    def __post_init__(self) -> None:
        self.data = self.base / "datadir"
        self._file(self.root / "src/a.py", "x = 1\n")
        self._file(self.root / "README.md", "# readme\n")
        self._file(self.outside / "secret.txt", "SECRET")
        self._file(self.data / "sessions.db", "SECRET")

    @property
    def root(self) -> Path:
        return self.base / "proj"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    def fill(self, text: str) -> str:
        pairs = {"$P": self.root, "$OUT": self.outside, "$DATA": self.data}
        for name, path in pairs.items():
            text = text.replace(name, str(path))
        return text

    def apply(self, steps: list[list[Any]]) -> None:
        for kind, place, *rest in steps:
            path = Path(self.fill(place))
            path.parent.mkdir(parents=True, exist_ok=True)
            self._step(kind, path, rest)

    def _step(self, kind: str, path: Path, rest: list[Any]) -> None:
        match kind:
            case "file":
                self._file(path, rest[0])
            case "symlink" | "junction":
                path.symlink_to(self.fill(rest[0]))
            case "dir":
                path.mkdir(parents=True, exist_ok=True)
            case "rename":
                path.rename(self.fill(rest[0]))
            case "rm":
                path.unlink()
            case _:
                self._special(kind, path, rest)

    def _special(self, kind: str, path: Path, rest: list[Any]) -> None:
        match kind:
            case "fifo":
                os.mkfifo(path)
            case "socket":
                self._socket(path)
            case "sparse":
                path.touch()
                os.truncate(path, rest[0])
            case "datadir":
                self._datadir(path)
            case _:
                raise AssertionError(kind)

    def snapshot(self) -> dict[str, bytes]:
        """What no tool may change: the neighbours and the data directory."""
        found = {p for p in self.base.rglob("*") if p.is_file() and not p.is_symlink()}
        inside = {p for p in found if p.is_relative_to(self.root)} - set(self.data.rglob("*"))
        return {str(p): p.read_bytes() for p in found - inside}

    def _file(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _datadir(self, path: Path) -> None:
        self.data = path
        self._file(path / "sessions.db", "SECRET")
        self._file(path / "config.toml", "bypass = false\n")

    def _socket(self, path: Path) -> None:
        folder = os.open(path.parent, os.O_RDONLY)  # a socket's address has only 108 bytes
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/proc/self/fd/{folder}/{path.name}")
        os.close(folder)
