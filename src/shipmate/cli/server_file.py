"""How commands find the server that holds the data directory, and talk to it."""

import http.client
import os
import time
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from shipmate.cli.patience import wait_before
from shipmate.config.directory import held
from shipmate.errors import ConflictError, ShipmateError
from shipmate.safety.secrets import write_private

NAME = "server.json"
WAIT_S = 30.0


class Running(msgspec.Struct, frozen=True):
    """`server.json`, mode 0600, there while a server runs."""

    url: str
    token: str
    """A bearer token with every scope, good until the server ends."""
    pid: int


def write(data: Path, running: Running) -> None:
    write_private(data / NAME, msgspec.json.encode(running))


def remove(data: Path) -> None:
    """Remove our own file; another server's stays."""
    if (found := read(data)) and found.pid == os.getpid():
        (data / NAME).unlink(missing_ok=True)


def read(data: Path) -> Running | None:
    try:
        return msgspec.json.decode((data / NAME).read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def take(stack: ExitStack | AsyncExitStack, data: Path) -> Running | None:
    """Take the data directory for as long as `stack` lasts; or the server that has it already.
    A `ConflictError` when something else has it, such as a `shipmate run`."""
    try:
        stack.enter_context(held(data))
    except ConflictError:
        if found := read(data):
            return found
        raise
    return None


class ServerError(ShipmateError):
    """The running server's refusal, in its words."""


def call(running: Running, method: str, path: str, body: Any = None) -> Any:
    """One call of its API; the decoded answer."""
    content = ask(running, method, path, msgspec.json.encode({} if body is None else body))
    return msgspec.json.decode(content) if content else None


def ask(running: Running, method: str, path: str, body: bytes) -> bytes:
    """One call of its API with JSON as it is; the answer as it is."""
    attempt = 1
    while True:
        answer, content = _asked(running, method, path, body)
        if answer.status < 400:
            return content
        seconds = wait_before(attempt, answer.status, answer.getheader("Retry-After"))
        if not seconds:
            raise ServerError(str(msgspec.json.decode(content)["detail"]))
        time.sleep(seconds)
        attempt += 1


def _asked(
    running: Running, method: str, path: str, body: bytes
) -> tuple[http.client.HTTPResponse, bytes]:
    place = urlsplit(running.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=WAIT_S)
    headers = {"Authorization": f"Bearer {running.token}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer, answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(
            f"The server at {running.url} (process {running.pid}) does not answer: {error}."
        ) from error
    finally:
        connection.close()
