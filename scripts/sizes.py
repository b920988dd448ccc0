"""Checks that no source file is too long. (Functions: ruff, in pyproject.toml.)"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 300
LIMIT_OF_TESTS = 400
"""A file of tests is a list of stories, each read alone."""
SUFFIXES = {".py", ".ts", ".js", ".svelte", ".css", ".html", ".sh"}
UNSUFFIXED = {"dev", ".ci/run"}
LARGER = {
    "src/shipmate/protocol.py": (640, "the whole vocabulary is read in one place"),
}
"""Files that are better whole: their own limit, and why."""
NOT_OURS = ("tests/cases/", "tests/blocks/")


def is_generated(name: str) -> bool:
    return ".gen." in name


def source_files() -> list[str]:
    """What git tracks, and what it would."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    return [
        name
        for name in sorted(set(filter(None, listed.split("\0"))))
        if (Path(name).suffix in SUFFIXES or name in UNSUFFIXED)
        and not name.startswith(NOT_OURS)
        and not is_generated(name)
        and (ROOT / name).is_file()
    ]


def too_long(name: str) -> str | None:
    lines = (ROOT / name).read_bytes().count(b"\n")
    ordinary = LIMIT_OF_TESTS if name.startswith(("tests/", "web/tests/")) else LIMIT
    limit, _reason = LARGER.get(name, (ordinary, ""))
    return f"{name}: {lines} lines, at most {limit}" if lines > limit else None


def main() -> int:
    names = source_files()
    problems = [problem for name in names if (problem := too_long(name))]
    problems += [f"{name}: listed in LARGER but not there" for name in LARGER if name not in names]
    print("\n".join(problems) or f"{len(names)} files")
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main())
