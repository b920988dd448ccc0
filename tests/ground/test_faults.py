"""The named places at which a process is killed."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import shipmate
from shipmate.faults import POINTS

SOURCE = Path(shipmate.__file__).parent
RUN = """
from shipmate.faults import point
for word in ("one", "two"):
    point("send.recorded")
    print(word)
"""


def killed_at(name: str) -> tuple[int, str]:
    """Exit status and output of a program that passes `send.recorded` twice."""
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        env={"SHIPMATE_KILL_AT": name, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_each_point_stands_in_one_place_of_the_code() -> None:
    text = "".join(file.read_text("utf-8") for file in SOURCE.rglob("*.py"))
    used = re.findall(r'\bpoint\("([^"]+)"\)', text)
    assert sorted(used) == sorted(POINTS)
    assert len(POINTS) >= 30


def test_a_process_is_killed_at_the_point_that_is_named_and_nowhere_else() -> None:
    assert killed_at("send.recorded") == (-signal.SIGKILL, "")
    assert killed_at("send.recorded:2") == (-signal.SIGKILL, "one\n")
    assert killed_at("send.advanced") == (0, "one\ntwo\n")


def test_a_name_that_is_none_is_refused() -> None:
    assert killed_at("send.nowhere")[0] == 1
