"""The other commands: token, check, model, doctor, help."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shipmate.safety.unseen import visible
from tests.cli.server import served, shipmate
from tests.reports import CASES

COMMANDS = (
    ("serve",),
    ("run",),
    ("check",),
    *(("check", word) for word in ("config", "shell", "path", "url", "request")),
    ("token",),
    *(("token", word) for word in ("create", "list", "revoke", "link")),
    ("rule",),
    *(("rule", word) for word in ("list", "add", "remove", "test")),
    ("pending",),
    ("model",),
    *(("model", word) for word in ("list", "fetch", "serve")),
    ("doctor",),
    ("export",),
    ("import",),
    ("backup",),
    ("restore",),
)
EVERYWHERE = {"--help", "--data", "--json", "--install-completion", "--show-completion"}


def rows(output: bytes) -> list[Any]:
    return [json.loads(line) for line in output.decode().split("\n") if line]


def test_a_token_is_made_listed_used_and_revoked(tmp_path: Path) -> None:
    options = ("--data", tmp_path)
    made = shipmate("token", "create", *options, "--name", "ci", "--scopes", "read,run", "--json")
    [token] = rows(made.stdout)
    assert token["scopes"] == ["read", "run"]
    with served(tmp_path) as server:
        bearer = {"Authorization": f"Bearer {token['token']}"}
        assert server.request("GET", "/api/auth/me", None, **bearer)[0] == 200
        assert server.request("GET", "/api/auth/tokens", None, **bearer)[0] == 403
        [listed] = rows(shipmate("token", "list", *options, "--json").stdout)
        assert (listed["id"], listed["name"]) == (token["id"], "ci")
        assert "token" not in listed
        assert shipmate("token", "revoke", *options, token["id"]).returncode == 0
        assert server.request("GET", "/api/auth/me", None, **bearer)[0] == 401
    again = shipmate("token", "revoke", *options, token["id"])
    assert again.returncode == 2
    assert token["id"] in again.stderr.decode()


def test_a_new_sign_in_link_needs_a_server(tmp_path: Path) -> None:
    none = shipmate("token", "link", "--data", tmp_path)
    assert none.returncode == 2
    assert b"No server" in none.stderr
    with served(tmp_path) as server:
        link = shipmate("token", "link", "--data", tmp_path).stdout.decode().strip()
        assert link.startswith(f"{server.url}/#token=")
        body = {"token": link.partition("#token=")[2]}
        assert server.request("POST", "/api/auth/exchange", body)[0] == 200


def test_check_shell_answers_each_line() -> None:
    asked = b'ls -la\n\n{"command": "rm -rf build"}\n{"command": "format c:", "shell": "cmd"}\n'
    done = shipmate("check", "shell", stdin=asked + b'{"command": 7}\n{ echo hi; }\n')
    verdicts = [row.get("verdict") for row in rows(done.stdout)]
    assert verdicts[:4] == ["safe", "dangerous", "blocked", None]
    assert "command" in rows(done.stdout)[3]["error"]
    assert verdicts[4] in ("safe", "ask")


def test_check_path_answers_each_line(tmp_path: Path) -> None:
    asked = {"op": "write", "path": "../outside", "root": str(tmp_path)}
    done = shipmate(
        "check", "path", "--root", tmp_path, stdin=b"a.py\n" + json.dumps(asked).encode()
    )
    inside, outside = rows(done.stdout)
    assert inside["verdict"] != "deny"
    assert outside["verdict"] == "deny"
    assert str(tmp_path) in outside["reason"]


def test_check_path_knows_the_spellings_of_other_systems_and_the_bypass(tmp_path: Path) -> None:
    asked = [
        {"op": "write", "path": "nul.txt", "platform": "windows"},
        {"op": "write", "path": ".Git/config", "platform": "macos"},
        {"op": "create", "path": "new.txt"},
    ]
    lines = "\n".join(map(json.dumps, asked)).encode()
    done = rows(shipmate("check", "path", "--root", tmp_path, stdin=lines).stdout)
    both = [(row["verdict"], row["with_bypass"]) for row in done]
    assert both == [("deny", "deny"), ("ask_danger", "ask_danger"), ("ask", "allow")]


def test_check_url_answers_each_line_as_the_cases_say() -> None:
    cases = (CASES / "ssrf.jsonl").read_bytes().replace(b"$P", b"8123")
    done = shipmate("check", "url", stdin=b"https://example.com/x\n" + cases)
    plain, *judged = rows(done.stdout)
    assert (plain["verdict"], plain["requested"]) == ("ask", "https://example.com/x")
    expected = [json.loads(line)["expect"] for line in cases.strip().split(b"\n")]
    assert [row["verdict"] for row in judged] == expected


def test_check_request_names_the_broken_rules() -> None:
    good: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    bad: Any = {"model": "m", "messages": []}
    asked = "\n".join(json.dumps(one) for one in (good, bad, 3)).encode()
    done = shipmate("check", "request", stdin=asked + b"\nnot json\n")
    first, second, third, fourth = rows(done.stdout)
    assert first == {"ok": True, "broken": []}
    assert second["broken"]
    assert third["broken"]
    assert "error" in fourth


def test_check_config_says_every_mistake_with_its_place(tmp_path: Path) -> None:
    assert rows(shipmate("check", "config", "--data", tmp_path).stdout)[0]["ok"] is True
    wrong = b"[server]\nprot = 1\n[limits]\nreads_per_round = 0\n"
    done = shipmate("check", "config", "-", stdin=wrong)
    assert done.returncode == 2
    assert len(rows(done.stdout)[0]["problems"]) == 2


def test_doctor_says_what_is_there(tmp_path: Path) -> None:
    done = shipmate("doctor", "--data", tmp_path, "--json")
    found = {row["what"]: row for row in rows(done.stdout)}
    assert found["data directory"]["state"] == "ok"
    assert found["ripgrep"]["state"] == "ok"
    (tmp_path / "sessions.db").write_bytes(b"no database at all, but long enough to be read" * 100)
    (tmp_path / "config.toml").write_text("[server\n")
    done = shipmate("doctor", "--data", tmp_path, "--json")
    found = {row["what"]: row for row in rows(done.stdout)}
    assert done.returncode == 1
    assert found["database"]["state"] == "bad"
    assert found["configuration"]["state"] == "bad"
    assert b"Traceback" not in done.stderr


def test_offline_models_are_listed_and_unknown_ones_refused(tmp_path: Path) -> None:
    listed = rows(shipmate("model", "list", "--data", tmp_path, "--json").stdout)
    assert {"name", "licence", "download_size", "here"} <= set(listed[0])
    unknown = shipmate("model", "fetch", "nope", "--data", tmp_path)
    assert unknown.returncode == 2
    assert b"nope" in unknown.stderr


@pytest.mark.parametrize("words", [(), *COMMANDS], ids=" ".join)
def test_every_command_explains_itself(words: tuple[str, ...]) -> None:
    done = shipmate(*words, "--help")
    assert done.returncode == 0
    assert b"Usage: shipmate" in done.stdout


def test_an_unknown_command_is_a_mistake_of_use() -> None:
    done = shipmate("srve")
    assert done.returncode == 2
    assert b"srve" in done.stderr
    assert b"Traceback" not in done.stderr


def test_the_version_is_said() -> None:
    assert shipmate("--version").stdout.startswith(b"shipmate ")


@pytest.mark.parametrize("hidden", ["\x1b[2J", "\u202e", "\u200b", "\ufeff", "\r", "\x9b"])
def test_nothing_that_steers_a_terminal_or_hides_is_shown_as_it_is(hidden: str) -> None:
    shown = visible(f"a{hidden}b\n\tc")
    assert hidden[0] not in shown
    assert f"[U+{ord(hidden[0]):04X}]" in shown
    assert shown.endswith("b\n\tc")


def test_every_command_and_option_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    for words in COMMANDS:
        assert re.search(rf"`(shipmate )?({words[0]} )?{words[-1]}\b", page), words
        text = shipmate(*words, "--help").stdout.decode()
        options = set(re.findall(r"--[a-z][a-z-]+", text)) - EVERYWHERE
        missing = [option for option in options if option not in page]
        assert not missing, (words, missing)
