"""The battery as an ordinary user runs it, where the tests themselves are run by root."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

import shipmate
from shipmate.safety.sandbox.bubblewrap import interpreter
from tests.safety.sandbox.battery import Row

HEAVY = shutil.ignore_patterns(
    "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "config-*", "site-packages",
    "__pycache__", "*.a", "turtledemo", "static",
)  # fmt: skip
SYSTEM_USER = 65534


def as_user(module: str, arguments: Sequence[str], folder: Path, uid: int) -> list[Row]:
    """What `battery` or `unconfined` finds when a user of that id runs it, with a home in
    `folder`."""
    code, home = folder / "code", folder / "home"
    _copied(Path(shipmate.__file__).parent, code / "shipmate")
    _copied(Path(msgspec.__file__).parent, code / "msgspec")
    _copied(Path(__file__).parent, code / "tests" / "safety" / "sandbox")
    home.mkdir()
    os.chown(home, uid, uid)
    python = _python(folder)
    done = subprocess.run(
        [python, "-s", "-m", f"tests.safety.sandbox.{module}", *arguments, str(uid)],
        user=uid,
        group=uid,
        extra_groups=[],
        cwd=home,
        env={"PATH": os.defpath, "HOME": str(home), "PYTHONPATH": str(code)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return [Row(**row) for row in json.loads(done.stdout)]


def _copied(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=HEAVY)


def _python(folder: Path) -> Path:
    """The interpreter, where everybody can read it."""
    base = interpreter()
    closed = [one for one in base.parents if not one.stat().st_mode & 0o001]
    if not closed:
        return base
    target = folder / "python"
    shutil.copytree(sys.base_prefix, target, ignore=HEAVY, symlinks=True)
    return target / base.relative_to(Path(sys.base_prefix).resolve())
