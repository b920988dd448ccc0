"""`./dev check`: every check that needs no test run, side by side; each prints name and time.

usage: check.py [NAME ...]
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Check:
    name: str
    command: tuple[str, ...]
    fix: str
    """What to do when it fails."""
    folder: str = "."


@dataclass(frozen=True)
class Outcome:
    check: Check
    seconds: float
    status: int
    output: str


def tool(name: str, *arguments: str) -> tuple[str, ...]:
    return (str(BIN / name), *arguments)


def script(name: str) -> tuple[str, ...]:
    return (sys.executable, str(ROOT / "scripts" / name))


CHECKS = (
    # The slow ones first, so that the others run beside them.
    Check("types", tool("pyright"), "annotate it; a suppression names its rule and its reason"),
    Check(
        "web types",
        ("node", "node_modules/svelte-check/bin/svelte-check", "--fail-on-warnings"),
        "correct the types in web/",
        folder="web",
    ),
    Check(
        "layers",
        tool("lint-imports", "--no-logo"),
        "docs/architecture.md says what may import what",
    ),
    Check("format", tool("ruff", "format", "--check", "-q"), ".venv/bin/ruff format"),
    Check("lint", tool("ruff", "check", "-q"), ".venv/bin/ruff check --fix"),
    Check("sizes", script("sizes.py"), "split it where its two subjects part"),
    Check("web api", script("api_types.py"), ".venv/bin/python scripts/api_types.py --write"),
    Check("docs", script("docs_complete.py"), "add what is missing to the page it names"),
    Check("lock", tool("uv", "lock", "--check", "-q"), ".venv/bin/uv lock"),
)


def run(check: Check) -> Outcome:
    started = time.monotonic()
    done = subprocess.run(
        check.command,
        cwd=ROOT / check.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    output = done.stdout.decode(errors="replace").rstrip()
    return Outcome(check, time.monotonic() - started, done.returncode, output)


def report(outcome: Outcome) -> None:
    word = "FAIL" if outcome.status else "ok  "
    print(f"{word} {outcome.check.name:<10} {outcome.seconds:5.1f} s", flush=True)
    if outcome.status:
        print(f"{outcome.output}\n     to do: {outcome.check.fix}\n", flush=True)


def chosen(names: Sequence[str]) -> list[Check]:
    if unknown := set(names) - {check.name for check in CHECKS}:
        sys.exit(f"no such check: {', '.join(unknown)}; {', '.join(c.name for c in CHECKS)}")
    return [
        check
        for check in CHECKS
        if (not names or check.name in names) and (ROOT / check.folder).is_dir()
    ]


def main(names: Sequence[str]) -> int:
    failed = 0
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for running in [pool.submit(run, check) for check in chosen(names)]:
            outcome = running.result()
            report(outcome)
            failed += outcome.status != 0
    print(f"{failed} failed" if failed else "all checks hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
