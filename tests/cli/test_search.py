"""`shipmate search`, with a server and without."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.server import served, shipmate
from tests.database.aged import filled


@pytest.mark.parametrize("with_server", [True, False])
def test_words_are_found_and_the_status_says_whether(tmp_path: Path, with_server: bool) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (session,) = asyncio.run(filled(data / "sessions.db", 1, 8))

    def story() -> None:
        done = shipmate("search", "q3", "--data", data)
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode().startswith(f"{session} 4  ")
        lines = shipmate("search", "q*", "--json", "--limit", "2", "--data", data).stdout
        hits = [json.loads(line) for line in lines.splitlines()]
        assert [hit["role"] for hit in hits] == ["user", "user"]
        assert hits[0]["snippet"]["marks"]
        for words in ("nothing", "q3 nothing"):
            none = shipmate("search", words, "--data", data)
            assert (none.returncode, none.stdout) == (3, b"")
            assert b"Nothing was found" in none.stderr
        for options in (("--role", "tool"), ("--project", "nope")):
            assert shipmate("search", "q3", *options, "--data", data).returncode == 3
        assert shipmate("search", "q3", "--days", "1", "-p", "p", "--data", data).returncode == 0
        for words, why in {"***": b"no word", "w" * 2000: b"1,000"}.items():
            refused = shipmate("search", words, "--data", data)
            assert refused.returncode == 2
            assert why in refused.stderr

    if with_server:
        with served(data):
            story()
    else:
        story()
