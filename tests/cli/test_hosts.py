"""Which addresses a server may listen on, and whom it believes."""

import subprocess
import sys
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from shipmate.cli.serve import check_host
from shipmate.config import Config
from shipmate.database.sqlite import SqliteStore
from shipmate.database.users import Users
from shipmate.errors import ConfigError
from shipmate.handlers.place import Place, client_address


async def test_other_machines_reach_it_only_where_people_have_passwords(tmp_path: Path) -> None:
    config = Config.load(tmp_path)
    check_host("127.0.0.1", config)
    with pytest.raises(ConfigError, match="shipmate user add"):
        check_host("192.0.2.1", config)
    store = await SqliteStore.open(tmp_path / "sessions.db")
    await (await Users.open(store)).add("ada", "admin", "hash")
    await store.close()
    check_host("192.0.2.1", config)
    with pytest.raises(ConfigError, match="public_url"):
        check_host("0.0.0.0", config)
    config.set("server.public_url", "https://ship.example.org")
    check_host("0.0.0.0", config)


def test_a_server_that_may_not_listen_there_says_what_to_do(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shipmate", "serve", "--host", "0.0.0.0", "--data", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "shipmate user add" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("10.0.0.2", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.2", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.2", "203.0.113.9, 10.0.0.3", "203.0.113.9"),
        ("203.0.113.7", "1.1.1.1", "203.0.113.7"),
        ("10.0.0.2", "", "10.0.0.2"),
    ],
)
def test_only_a_trusted_proxy_names_the_client(peer: str, forwarded: str, found: str) -> None:
    place = Place.at(8765, "https://ship.example.org", proxies=["10.0.0.0/24"])
    headers = Headers({"x-forwarded-for": forwarded} if forwarded else {})
    assert client_address(place, {"client": (peer, 1)}, headers) == found
