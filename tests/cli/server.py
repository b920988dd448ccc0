"""A real `shipmate serve` in a process of its own."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError

from shipmate.cli.server_file import read


@dataclass
class Served:
    process: subprocess.Popen[bytes]
    url: str
    token_url: str
    token: str
    """A bearer token with every scope."""

    def request(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers in lower case, body."""
        data = None if body is None else json.dumps(body).encode()
        known = {"Content-Type": "application/json"} if data is not None else {}
        asked = urllib.request.Request(self.url + path, data, known | headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return answer.status, _lower(answer.headers), answer.read()
        except HTTPError as error:
            with error:
                return error.code, _lower(error.headers), error.read()

    def open(self, method: str, path: str, body: Any) -> HTTPResponse:
        """An authorized call's answer, to be read as it comes."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode()
        asked = urllib.request.Request(self.url + path, data, headers, method=method)
        answer = urllib.request.urlopen(asked, timeout=30)
        assert isinstance(answer, HTTPResponse)
        return answer

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer of an authorized call that succeeds."""
        own = {"Authorization": f"Bearer {self.token}"}
        status, headers, content = self.request(method, path, body, **own)
        while status == 429:  # as who asks again and again is told
            time.sleep(float(headers["retry-after"]))
            status, headers, content = self.request(method, path, body, **own)
        assert status < 300, (status, content)
        return json.loads(content) if content else None

    def events(self, path: str, body: Any) -> list[dict[str, Any]]:
        """All events of a stream that ends by itself."""
        _, _, content = self.request("POST", path, body, Authorization=f"Bearer {self.token}")
        return [json.loads(data) for data in re.findall(rb"^data: (.*)$", content, re.MULTILINE)]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait; the exit status."""
        self.process.send_signal(number)
        return self.process.wait(60)


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "shipmate", *map(str, arguments)]


def environment(**extra: str) -> dict[str, str]:
    """Ours without keys of model providers."""
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    return {**kept, "PYTHONUNBUFFERED": "1", **extra}


@contextlib.contextmanager
def served(
    data: Path, *arguments: str, log: int | IO[bytes] | None = None, **extra: str
) -> Generator[Served]:
    """`log`: where its standard error goes; `extra`: variables of its environment."""
    process = subprocess.Popen(
        command("serve", "--data", data, "--port", "0", "--json", *arguments),
        stdout=subprocess.PIPE,
        stderr=log,
        env=environment(**extra),
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, f"the server ended with status {process.wait(60)}"
        told = json.loads(line)
        running = read(data)
        assert running is not None
        yield Served(process, told["url"], told["token_url"], running.token)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(60)
        process.stdout.close()


def shipmate(
    *arguments: str | Path, stdin: bytes = b"", timeout: float = 60
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end."""
    return subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        timeout=timeout,
        env=environment(),
        check=False,
    )
