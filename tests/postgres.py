"""A PostgreSQL server for tests: the one that `DATABASE_URL` names, or one of our own.

Each test has a schema of its own, which goes at its end.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

PATIENCE = 60.0
MISSING = (
    "PostgreSQL is not here: install its server (Debian: postgresql), or name one in DATABASE_URL"
)


def program(name: str) -> str:
    """Of the newest PostgreSQL on this machine; Debian keeps them out of the path."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(beside[-1]) if beside else "")


@contextmanager
def server() -> Generator[str]:
    """The URL of a server for as long as the context lasts; skips the test where there is none."""
    if given := os.environ.get("DATABASE_URL"):
        yield given
        return
    if not program("initdb"):
        pytest.skip(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        with _running(folder) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(folder: Path) -> Generator[str]:
    user = _owner(folder)
    data, port = folder / "data", _free_port()
    made = [program("initdb"), "-D", data, "-U", "ship", "-A", "trust", "-E", "UTF8", "--no-locale"]
    subprocess.run(made, check=True, capture_output=True, user=user, cwd=folder)
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [program("postgres"), "-D", data, "-p", str(port), "-k", folder, "-h", "127.0.0.1"],
            stdout=out,
            stderr=out,
            user=user,
            cwd=folder,
        )
    url = f"postgresql://ship@127.0.0.1:{port}/postgres"
    try:
        _until_it_answers(url, process, log)
        yield url
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.kill()
        process.wait()


def _owner(folder: Path) -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.geteuid():
        return None
    shutil.chown(folder, "nobody")
    return "nobody"


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _until_it_answers(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return psycopg.connect(url).close()
        except psycopg.OperationalError:
            gone = process.poll() is not None or time.monotonic() > until
            assert not gone, f"PostgreSQL does not start: {log.read_text()[-2000:]}"
            time.sleep(0.05)


@contextmanager
def schema(url: str) -> Generator[str]:
    """The URL of a new, empty schema there."""
    name = f"t_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {name}".encode())
    try:
        yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"
    finally:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(f"DROP SCHEMA {name} CASCADE".encode())
