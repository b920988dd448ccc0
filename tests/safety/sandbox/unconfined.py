"""Each attempt of the battery once where nothing holds it: what gets nowhere there shows nothing.

    python -m tests.safety.sandbox.unconfined OWNER

Never as root, whom nothing would hold either. Those that only root's rights would carry through,
or that would harm the machine, say so (`attempts.Attempt.not_shown`) and are left out.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tests.safety.sandbox.attempts import Attempt, groups
from tests.safety.sandbox.battery import MARK, PATIENCE, Place, Row, filtered, place, ran, script_of


def shown(owner: int) -> list[Row]:
    """Rows that are not held are as they should be."""
    if os.getuid() == 0:
        raise SystemExit("attempts are not made by root without a sandbox")
    rows: list[Row] = []
    with place("bubblewrap", owner) as here:
        for _, group in groups():
            rows += [_row(here, one) for one in group if not one.not_shown]
    return rows


def _row(here: Place, one: Attempt) -> Row:
    here.project()
    script = script_of(here, 0, one)
    if one.hosts:
        with filtered(("*",), here.owner, lambda _address: "") as proxy:
            said = ran(here, script, proxy)[0]
    else:
        said = _in_plain_bash(here, script)
    harm = "; ".join(here.harm())
    _end_what_is_left()
    text = said.partition("BEGIN 0\n")[2].partition("TRIED 0\n")[0]
    held = not harm and "ESCAPED" not in text
    return Row(one.name, held, one.lenient, harm or text.strip()[-300:])


def _in_plain_bash(here: Place, script: str) -> str:
    with (here.folder / "said").open("w+") as said:  # not a pipe, which what is left would hold
        subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-c", f"ulimit -c unlimited\n{script}"],
            pass_fds=[here.secret],  # as if one had leaked
            cwd=here.root,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            timeout=PATIENCE,
            check=False,
        )
        said.seek(0)
        return said.read()


def _end_what_is_left() -> None:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if MARK.encode() in entry.read_bytes():
                os.kill(int(entry.parent.name), signal.SIGKILL)


if __name__ == "__main__":
    print(json.dumps([asdict(row) for row in shown(int(sys.argv[1]))]))
