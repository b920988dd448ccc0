"""`shipmate run`: a task from a script or a terminal."""

import json
import os
import pty
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from shipmate.cli.server_file import read
from tests.cli.server import command, environment, served, shipmate
from tests.provider import Answer, Provider, call_reply, error_reply, text_reply

DEMO = ("-m", "scripted/demo")
FILE = "shipmate-demo.md"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "README.md").write_text("# A project\n")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def lines(output: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.decode().strip().split("\n")]


def use(data: Path, provider: Provider, more: str = "") -> tuple[str, str]:
    """The options that name the provider's model, after it is configured."""
    data.mkdir(exist_ok=True)
    (data / "config.toml").write_text(f'[providers.own]\nbase_url = "{provider.url}"\n{more}')
    return "-m", "own/m"


def test_all_approves_and_answers_and_the_file_is_written(data: Path, project: Path) -> None:
    done = shipmate("run", "--data", data, "-p", project, *DEMO, "--approve", "all", "tour")
    assert done.returncode == 0, done.stderr
    assert (project / FILE).exists()
    assert b"scripted demo" in done.stdout
    assert done.stderr.count(b"> write_file") == 1


def test_json_gives_the_blocks_and_ends_with_done(data: Path, project: Path) -> None:
    options = ("--approve", "all", "--json")
    done = shipmate("run", "--data", data, "-p", project, *DEMO, *options, "tour")
    told = lines(done.stdout)
    assert done.returncode == 0
    assert told[-1] == {"type": "done", "session": told[0]["session"], "finished": True}
    assert {"user", "tool", "tool_result", "message", "approval_request"} <= {
        event["type"] for event in told
    }
    assert "delta" not in {event["type"] for event in told}


def test_without_a_terminal_calls_are_denied_and_questions_wait(data: Path, project: Path) -> None:
    done = shipmate("run", "--data", data, "-p", project, *DEMO, "--json", "tour")
    told = lines(done.stdout)
    assert done.returncode == 3
    assert told[-1]["reason"] == "waiting_answer"
    assert [e["result"] for e in told if e["type"] == "approval_request" and "result" in e] == [
        False
    ]
    assert not (project / FILE).exists()


def test_answers_are_used_in_order(data: Path, project: Path) -> None:
    options = ("--answer", "Fix a bug", "--json")
    done = shipmate("run", "--data", data, "-p", project, *DEMO, *options, "tour")
    answered = [e for e in lines(done.stdout) if e["type"] == "ask_user" and "result" in e]
    assert done.returncode == 0
    assert answered[0]["result"] == "Fix a bug"


def test_files_is_the_bypass(data: Path, project: Path) -> None:
    options = ("--approve", "files", "--answer", "x", "--json")
    done = shipmate("run", "--data", data, "-p", project, *DEMO, *options, "tour")
    assert done.returncode == 0
    assert (project / FILE).exists()
    asked = [e for e in lines(done.stdout) if e["type"] == "approval_request"]
    assert {e["decided_by"] for e in asked} == {"bypass"}


def test_the_task_may_come_from_standard_input(data: Path, project: Path) -> None:
    options = ("--approve", "all", "--json", "-")
    done = shipmate("run", "--data", data, "-p", project, *DEMO, *options, stdin=b"from a pipe\n")
    said = [event["text"] for event in lines(done.stdout) if event["type"] == "user"]
    assert said == ["from a pipe\n"]


def test_with_a_server_it_runs_there(data: Path, project: Path) -> None:
    with served(data) as server:
        options = ("--approve", "all", "--json")
        done = shipmate("run", "--data", data, "-p", project, *DEMO, *options, "tour")
        assert done.returncode == 0, done.stderr
        session = lines(done.stdout)[0]["session"]
        view = server.api("GET", f"/api/agent/sessions/{session}")
        assert view["session"]["status"] == "idle"
    assert (project / FILE).exists()


def test_a_failing_provider_is_status_5_in_its_words(
    data: Path, project: Path, provider: Provider
) -> None:
    options = use(data, provider)
    provider.queue(error_reply(401, "Incorrect API key provided"))
    done = shipmate("run", "--data", data, "-p", project, *options, "hello")
    assert done.returncode == 5
    assert b"Incorrect API key provided" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_sub_agent_shows_what_it_does_and_not_what_it_says(
    data: Path, project: Path, provider: Provider
) -> None:
    options = use(data, provider)
    looked = call_reply(("list_files", {"path": "."}))
    provider.queue(looked, text_reply("inner words"), text_reply("outer words"))
    task = "CALL: explorer see what there is"
    done = shipmate("run", "--data", data, "-p", project, *options, task)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"outer words\n"
    assert b"> call_agent explorer\n" in done.stderr
    assert b"\n  > list_files ." in done.stderr


def test_a_limit_is_status_4(data: Path, project: Path, provider: Provider) -> None:
    options = use(data, provider, "[agents.assistant]\nmax_steps = 1\n")
    provider.queue(call_reply(("list_files", {"path": "."})), text_reply("never"))
    done = shipmate("run", "--data", data, "-p", project, *options, "--json", "hello")
    assert (done.returncode, lines(done.stdout)[-1]["reason"]) == (4, "limit")


def test_ctrl_c_stops_in_order(data: Path, project: Path, provider: Provider) -> None:
    options = use(data, provider)
    provider.queue(Answer(b": the answer never comes\n\n", after="hang"))
    process = subprocess.Popen(
        command("run", "--data", data, "-p", project, *options, "--json", "hello"),
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    while b"stream_start" not in (line := process.stdout.readline()) and b'"user"' not in line:
        assert line
    while not provider.seen:
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    process.stdout.close()
    assert process.wait(20) == 130
    assert lines(rest)[-1]["reason"] == "stopped"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("-m", "nope/x", "hi"), "nope"),
        (("-m", "scripted/demo", "--agent", "nope", "hi"), "nope"),
        (("-m", "scripted/demo", "-p", "/no/such/folder", "hi"), "/no/such/folder"),
        (("-m", "scripted/demo", ""), "no task"),
        (("--approve", "perhaps", "hi"), "perhaps"),
        ((), "TASK"),
    ],
)
def test_a_mistake_is_said_in_a_sentence(
    data: Path, project: Path, arguments: tuple[str, ...], word: str
) -> None:
    folder = () if "-p" in arguments else ("-p", str(project))
    done = shipmate("run", "--data", data, *folder, *arguments)
    assert done.returncode == 2
    assert word in done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_a_directory_held_by_another_run_is_named(data: Path, project: Path) -> None:
    with served(data):
        (data / "server.json").unlink()
        done = shipmate("run", "--data", data, "-p", project, *DEMO, "hi")
        assert read(data) is None
    assert done.returncode == 2
    assert str(data) in done.stderr.decode()


def test_on_a_terminal_it_asks_and_shows_what_would_be_written(data: Path, project: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("run", "--data", data, "-p", project, *DEMO, "tour"),
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment(),
    )
    os.close(theirs)
    seen = _until(ours, b"Approve?")
    assert b"Approval request" in seen
    assert f"create {FILE}".encode() in seen
    assert not (project / FILE).exists()
    os.write(ours, b"y\n")
    assert b"1. " in _until(ours, b"Answer:")
    assert (project / FILE).exists()
    os.write(ours, b"1\n")
    _until(ours, b"")
    assert process.wait(20) == 0
    os.close(ours)


def test_on_a_terminal_an_answer_that_is_none_of_the_options_is_asked_for_again(
    data: Path, project: Path, provider: Provider
) -> None:
    asked = {"question": "Which?", "options": ["red", "blue"], "allowFreeform": False}
    provider.queue(call_reply(("ask_user", asked)))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("run", "--data", data, "-p", project, *use(data, provider), "go"),
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment(),
    )
    os.close(theirs)
    _until(ours, b"Answer:")
    os.write(ours, b"green\n")
    assert b"the options alone" in _until(ours, b"Answer:")
    os.write(ours, b"2\n")
    _until(ours, b"")
    assert process.wait(20) == 0
    os.close(ours)
    assert provider.seen[1].messages[-1]["content"] == "blue"


def _until(terminal: int, wanted: bytes) -> bytes:
    """What is printed up to `wanted`; to the end when that is nothing."""
    seen = b""
    while not wanted or wanted not in seen:
        assert select.select([terminal], [], [], 30)[0], seen
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            part = b""
        if not part:
            assert not wanted, seen
            return seen
        seen += part
    return seen
