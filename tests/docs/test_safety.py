"""What safety.md promises, where it can be tried in a line."""

import json
from pathlib import Path

import pytest

from tests.cli.server import shipmate
from tests.docs.pages import Example, of
from tests.docs.shell import Reader
from tests.provider import Provider, call_reply


def test_the_commands_of_the_page_show_three_verdicts_and_a_refusal(someone: Reader) -> None:
    commands, urls = [e for e in of("sh") if e.page == "docs/safety.md"]
    assert verdicts(someone, commands) == ["safe", "dangerous", "blocked", "deny"]
    assert verdicts(someone, urls) == ["ask", "refuse", "refuse"]


def verdicts(someone: Reader, example: Example) -> list[str]:
    lines = someone.run(example).stdout.strip().split("\n")
    return [json.loads(line)["verdict"] for line in lines]


@pytest.mark.parametrize(
    ("mode", "asked"), [("auto", False), ("off", True)], ids=["sandbox", "no sandbox"]
)
def test_a_safe_command_runs_unasked_in_a_sandbox_only(
    tmp_path: Path, provider: Provider, mode: str, asked: bool
) -> None:
    project, data = tmp_path / "project", tmp_path / "data"
    project.mkdir()
    data.mkdir()
    (data / "config.toml").write_text(
        f'[sandbox]\nmode = "{mode}"\n'
        f'[providers.own]\nbase_url = "{provider.url}"\n'
        f'[projects.demo]\npath = "{project}"\nrun_safe_commands = true\n'
    )
    provider.queue(call_reply(("shell_exec", {"command": "ls"})))
    done = shipmate("run", "--data", data, "-p", "demo", "-m", "own/m", "--json", "look")
    told = [json.loads(line) for line in done.stdout.decode().strip().split("\n")]
    assert ("approval_request" in {event["type"] for event in told}) == asked
