"""export and import, with a server and without."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.cli.server import served, shipmate
from tests.database.aged import filled


@pytest.mark.parametrize("with_server", [True, False])
def test_a_session_goes_out_and_comes_in(tmp_path: Path, with_server: bool) -> None:
    data, out = tmp_path / "data", tmp_path / "out.json"
    data.mkdir()
    (tmp_path / "p").mkdir()
    (data / "config.toml").write_text(f'[projects.own]\npath = "{tmp_path / "p"}"\n')
    (session,) = asyncio.run(filled(data / "sessions.db", 1, 4))

    def story() -> None:
        page = shipmate("export", session, "--format", "html", "--data", data)
        assert page.returncode == 0, page.stderr
        assert page.stdout.startswith(b"<!doctype html>")
        done = shipmate("export", session, "--format", "json", "--to", out, "--data", data)
        assert done.returncode == 0, done.stderr
        assert len(json.loads(out.read_bytes())["blocks"]) == 4
        made = shipmate("import", out, "--project", "own", "--data", data)
        assert made.returncode == 0, made.stderr
        again = shipmate("export", made.stdout.decode().strip(), "--format", "json", "--data", data)
        document = json.loads(again.stdout)
        assert document["session"]["project"] == "own"
        assert [b["type"] for b in document["blocks"]][:2] == ["message", "user"]
        for arguments, word in (
            (("export", "nope"), "nope"),
            (("import", tmp_path / "none.json"), "cannot be read"),
            (("import", data / "config.toml"), "JSON"),
            (("import", out, "--project", "nope"), "own"),
        ):
            refused = shipmate(*arguments, "--data", data)
            assert refused.returncode == 2, refused
            assert word in refused.stderr.decode()
        assert shipmate("import", "-", "--data", data, stdin=out.read_bytes()).returncode == 0

    if with_server:
        with served(data):
            story()
    else:
        story()
