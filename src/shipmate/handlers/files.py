"""The built files of the page, found by exact name, so that no path can lead elsewhere."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

STATIC = Path(__file__).resolve().parent.parent / "static"


@dataclass(slots=True)
class Pages:
    """The built files, each read when first asked for."""

    root: Path = STATIC
    _names: frozenset[str] = frozenset()
    _files: dict[str, tuple[bytes, str]] = field(default_factory=dict[str, tuple[bytes, str]])

    def find(self, name: str) -> tuple[bytes, str] | None:
        """Content and ETag of a file by its name below the root."""
        if name not in self._files:
            if name not in self._listed(name):
                return None
            content = (self.root / name).read_bytes()
            self._files[name] = content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        return self._files[name]

    def _listed(self, wanted: str) -> frozenset[str]:
        if wanted not in self._names and self.root.is_dir():
            files = (path for path in self.root.rglob("*") if path.is_file())
            self._names = frozenset(path.relative_to(self.root).as_posix() for path in files)
        return self._names
