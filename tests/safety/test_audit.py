"""The audit log: what was changed, taken out or cut off is found; what a crash tore is told."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shipmate.safety.audit import HEAD, NAME, Audit, entries, files, verify


def write(data: Path, count: int, large: int = 10**9) -> None:
    audit = Audit(data, large)
    for number in range(count):
        audit.tell("tried", who="ada", what={"number": number})
    audit.close()


def test_lines_are_kept_in_order_over_restarts(tmp_path: Path) -> None:
    write(tmp_path, 3)
    write(tmp_path, 2)
    assert [entry.n for entry in entries(tmp_path)] == [1, 2, 3, 4, 5]
    assert verify(tmp_path).problem == ""
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


SPOILED: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a changed line": lambda lines: [lines[0], lines[1].replace(b"ada", b"bob"), *lines[2:]],
    "a line less": lambda lines: [lines[0], *lines[2:]],
    "a line more": lambda lines: [*lines[:2], *lines[1:]],
    "no end": lambda lines: lines[:3],
    "no beginning": lambda lines: lines[1:],
    "rubbish": lambda lines: [*lines[:2], b"rubbish", *lines[2:]],
}


@pytest.mark.parametrize("how", SPOILED)
def test_what_was_done_to_it_is_found(tmp_path: Path, how: str) -> None:
    write(tmp_path, 5)
    lines = (tmp_path / NAME).read_bytes().rstrip(b"\n").split(b"\n")
    (tmp_path / NAME).write_bytes(b"\n".join(SPOILED[how](lines)) + b"\n")
    assert verify(tmp_path).problem


def test_a_head_that_was_taken_away_is_missed(tmp_path: Path) -> None:
    write(tmp_path, 2)
    (tmp_path / HEAD).unlink()
    assert verify(tmp_path).problem


def test_a_torn_line_is_told_and_the_chain_goes_on(tmp_path: Path) -> None:
    write(tmp_path, 2)
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"n":3,"event":"to')
    assert verify(tmp_path) == verify(tmp_path)
    assert (verify(tmp_path).torn, verify(tmp_path).problem) == (1, "")
    write(tmp_path, 1)
    assert (verify(tmp_path).torn, verify(tmp_path).problem) == (1, "")
    assert [entry.event for entry in entries(tmp_path)] == ["tried", "tried", "torn", "tried"]


def test_files_that_are_put_aside_stay_in_the_chain(tmp_path: Path) -> None:
    write(tmp_path, 20, large=1000)
    assert len(files(tmp_path)) > 2
    write(tmp_path, 3, large=1000)
    assert (verify(tmp_path).lines, verify(tmp_path).problem) == (23, "")
    files(tmp_path)[1].unlink()
    assert verify(tmp_path).problem


def test_a_process_that_is_killed_leaves_a_log_that_goes_on(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom shipmate.safety.audit import Audit\n"
        f"audit = Audit(Path({str(tmp_path)!r}))\n"
        "for n in range(50): kept = audit.tell('tried', what={'n': n})\n"
        "kept.result()\nfor n in range(500): audit.tell('more', what={'n': n})\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    assert verify(tmp_path).problem == ""
    assert verify(tmp_path).lines >= 50
    write(tmp_path, 1)
    assert verify(tmp_path).problem == ""
