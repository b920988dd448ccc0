"""`shipmate rule`, `pending` and `check shell --project`, with a server and without."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.server import served, shipmate


def rows(output: bytes) -> list[Any]:
    return [json.loads(line) for line in output.decode().split("\n") if line]


@pytest.mark.timeout(300)  # twelve processes, one after the other
@pytest.mark.parametrize("server", [True, False])
def test_rules_are_written_tried_listed_and_removed(tmp_path: Path, server: bool) -> None:
    data, project = tmp_path / "data", tmp_path / "demo"
    data.mkdir()
    project.mkdir()
    (data / "config.toml").write_text(f"[projects.demo]\npath = {json.dumps(str(project))}\n")
    at = ("--data", data)
    with ExitStack() as stack:
        if server:
            stack.enter_context(served(data))
        add = ("rule", "add", *at, "--json", "--project", "demo", "allow", "shell:npm test")
        [made] = rows(shipmate(*add).stdout)
        assert (made["text"], made["project"]) == ("shell:npm test", "demo")
        bad = shipmate("rule", "add", *at, "allow", "shell:sudo *")
        assert (bad.returncode, bad.stdout) == (2, b"")
        assert b"no rule allows it" in bad.stderr
        test = ("rule", "test", *at, "shell", "ls; npm test")
        assert rows(shipmate(*test).stdout)[0]["verdict"] == "ask"
        [tried] = rows(shipmate(*test, "-p", "demo").stdout)
        assert (tried["verdict"], tried["commands"]) == ("allow", [["ls"], ["npm", "test"]])
        assert "demo" in shipmate("rule", "list", *at).stdout.decode()
        asked = shipmate("check", "shell", *at, "-p", "demo", stdin=b"npm test\nnpm run x\n")
        assert [row["with_rules"] for row in rows(asked.stdout)] == ["allow", "ask"]
        assert rows(asked.stdout)[1]["suggested"] == ["shell:npm run x"]
        assert b"Nothing waits" in shipmate("pending", *at).stderr
        assert shipmate("rule", "remove", *at, made["id"]).returncode == 0
        assert shipmate("rule", "remove", *at, made["id"]).returncode == 2
