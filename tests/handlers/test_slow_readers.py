"""Readers that stop reading cost the server little, whatever there is to send (FM024)."""

import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.server import Served, served
from tests.faults.trial import CHAT
from tests.provider import Provider, text_reply

READERS = 12
LONG = 4_000_000
MOST = 2_000_000
"""Bytes a reader may cost."""


def memory(server: Served) -> int:
    """Bytes that the server's process holds and shares with nobody."""
    text = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) * 1024 for line in text.split("\n") if "Private" in line)


def stalled(server: Served, session: str) -> socket.socket:
    """A reader that has begun to read, and reads no more."""
    address = urlsplit(server.url)
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect((address.hostname, address.port))
    made.sendall(
        f"GET /api/agent/sessions/{session}/events HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Authorization: Bearer {server.token}\r\n\r\n".encode()
    )
    assert made.recv(15) == b"HTTP/1.1 200 OK"
    return made


def settled(server: Served) -> int:
    """Its memory, once it does not grow any more."""
    before, now = 0, memory(server)
    while now > before:
        before = now
        time.sleep(0.3)  # nothing tells that it is at rest
        now = memory(server)
    return now


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
def test_a_reader_that_stalls_in_front_of_long_messages_costs_little(
    tmp_path: Path, provider: Provider
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "config.toml").write_text(
        f'[providers.fake]\ntype = "openai"\nbase_url = "{provider.url}"\n'
        f'models = [{{ id = "m", context_length = 8000000 }}]\n'
        f'[projects.demo]\npath = "{tmp_path / "project"}"\n'
    )
    with served(tmp_path) as server:
        session = ""
        for number in range(2):
            provider.queue(text_reply("word " * (LONG // 5)))
            body = {"session": session, "message": "more"} if session else {"task": "much"}
            new = {} if session else {"provider": "fake/m", "project": "demo"}
            told = server.events(CHAT, {**new, **body, "client_id": str(number)})
            assert told[-1]["finished"] is True
            session = told[0]["session"]
        stalled(server, session).close()
        before = settled(server)
        readers = [stalled(server, session) for _ in range(READERS)]
        each = (settled(server) - before) / READERS
        for reader in readers:
            reader.close()
        assert each <= MOST, f"{each / 1e6:.1f} MB a reader"
        assert server.api("GET", f"/api/agent/sessions/{session}")["session"]["status"] == "idle"


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
def test_idle_streams_cost_little(tmp_path: Path) -> None:
    """FM025: at most 100 kB each."""
    (tmp_path / "project").mkdir()
    (tmp_path / "config.toml").write_text(f'[projects.demo]\npath = "{tmp_path / "project"}"\n')
    with served(tmp_path) as server:
        new = {"provider": "scripted/demo", "project": "demo", "task": "tour"}
        session = server.events(CHAT, new)[0]["session"]
        for warm in [stalled(server, session) for _ in range(20)]:
            warm.close()
        before = settled(server)
        readers = [stalled(server, session) for _ in range(200)]
        each = (settled(server) - before) / len(readers)
        for reader in readers:
            reader.close()
    assert each <= 100_000, f"{each / 1000:.0f} kB a stream"
