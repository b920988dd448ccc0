"""Commands as the model runs them: output, status, time limit, Stop, and nothing left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shipmate.protocol import BlockedDetail, CommandDetail, ExitDetail
from shipmate.safety.sandbox.room import SandboxSettings
from shipmate.safety.verdict import Level
from shipmate.tools import processes, remains
from shipmate.tools.output import border
from shipmate.tools.shell import end_background, shell_exec
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, ToolStopped, Workspace
from tests.reports import reports
from tests.safety.means import only
from tests.tools.use import judged

RUN = f"{os.getpid()}"
"""Sleeps are told from those of other runs of these tests by their length."""
CASES = reports("shell")


@pytest.fixture(autouse=True)
async def nothing_in_the_background() -> AsyncIterator[None]:
    yield
    await end_background()


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def means(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test runs with every means of confinement."""
    wanted: str = request.param
    only(wanted, monkeypatch)
    return wanted


async def ran(work: Workspace, command: str, **given: Any) -> ToolOutput:
    output = await shell_exec.run(ToolContext(work, call="c1"), command=command, **given)
    assert isinstance(output, ToolOutput)
    return output


def told(output: ToolOutput) -> ExitDetail:
    assert isinstance(output.details, ExitDetail)
    return output.details


def alive(text: str) -> list[int]:
    """Processes whose command line holds `text`."""
    found = list[int]()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (entry / "cmdline").read_bytes().replace(b"\0", b" "):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def test_the_output_comes_in_order_with_status_and_folder(work: Workspace) -> None:
    output = await ran(work, "echo one; echo two >&2; echo three; exit 3")
    lines = output.text.split("\n")
    assert lines[:3] == ["one", "two", "three"]
    assert lines[3].startswith("[exit status 3;")
    assert lines[3].endswith(f"in {work.root}]")
    assert told(output).status == 3
    assert output.is_error


async def test_a_command_that_succeeds_is_no_error(work: Workspace) -> None:
    output = await ran(work, "true")
    assert not output.is_error
    assert told(output).status == 0


async def test_each_verdict_has_its_level(work: Workspace) -> None:
    yellow = await judged(work, shell_exec, command="ls")
    assert yellow.level is Level.ASK
    assert isinstance(yellow.details, CommandDetail)
    assert (yellow.details.command, yellow.details.cwd) == ("ls", str(work.root))
    assert yellow.binds["cwd"] == str(work.root)
    red = await judged(work, shell_exec, command="rm -rf x")
    assert (red.level, red.rule) == (Level.DANGER, "rm-rf")
    assert red.reason
    blocked = await judged(work, shell_exec, command="dd if=a of=b")
    assert blocked.level is Level.REFUSE
    assert isinstance(blocked.details, BlockedDetail)


async def test_only_safe_commands_run_unasked_where_that_is_on(work: Workspace) -> None:
    on = replace(work, safe_commands=True)
    assert (await judged(on, shell_exec, command="ls")).level is Level.ALLOW
    assert (await judged(on, shell_exec, command="touch a")).level is Level.ASK
    assert (await judged(on, shell_exec, command="ls", network=True)).level is Level.ASK


async def test_nothing_runs_unasked_without_a_sandbox(work: Workspace) -> None:
    off = replace(work, safe_commands=True, sandbox=SandboxSettings(mode="off"))
    verdict = await judged(off, shell_exec, command="ls")
    assert verdict.level is Level.ASK
    assert isinstance(verdict.details, CommandDetail)
    assert verdict.details.sandbox == "none"


async def test_the_network_is_part_of_what_is_approved(work: Workspace) -> None:
    command = "curl https://example.org/a"
    without = await judged(work, shell_exec, command=command)
    with_it = await judged(work, shell_exec, command=command, network=True)
    further = await judged(work, shell_exec, command=command, network=True, hosts=["b.example"])
    found = [one.details for one in (without, with_it, further)]
    assert [d.network for d in found if isinstance(d, CommandDetail)] == [
        (),
        ("example.org",),
        ("b.example", "example.org"),
    ]
    assert len({str(one.binds) for one in (without, with_it, further)}) == 3


async def test_an_open_network_is_red(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    only("landlock", monkeypatch)
    verdict = await judged(work, shell_exec, command="make", network=True)
    assert (verdict.level, verdict.rule) == (Level.DANGER, "open-network")


async def test_editors_and_pagers_do_not_wait(work: Workspace) -> None:
    case = CASES["SHL-04"]
    async with asyncio.timeout(case["expect"]["within_s"]):
        output = await ran(work, case["input"]["command"])
    assert "done" in output.text.split("\n")
    assert "editor 'false'" in output.text


async def test_what_asks_for_input_fails_at_once(work: Workspace) -> None:
    """FM087: stdin is empty, there is no terminal."""
    command = "cat; read -r x; echo read $?; tty; git clone https://127.0.0.1:9/x; echo end"
    async with asyncio.timeout(10):
        output = await ran(work, command)
    lines = output.text.split("\n")
    assert lines[:2] == ["read 1", "not a tty"]
    assert "end" in lines


async def test_stop_ends_the_command_and_tells_what_it_had(work: Workspace) -> None:
    """SHL-06"""
    run = asyncio.ensure_future(ran(work, f"echo a; sleep 271828{RUN}; echo b"))
    await until(lambda: alive(f"sleep 271828{RUN}"))
    begun = time.monotonic()
    run.cancel()
    with pytest.raises(ToolStopped) as stopped:
        await run
    assert time.monotonic() - begun < 3
    assert alive(f"sleep 271828{RUN}") == []
    output = stopped.value.output
    assert output.text.startswith("a\n[stopped by the user;")
    assert told(output) == ExitDetail(seconds=told(output).seconds, stopped="user")


async def test_other_encodings_and_cut_characters_are_readable(work: Workspace) -> None:
    case = CASES["SHL-08"]
    output = await ran(work, case["input"]["command"])
    assert case["expect"]["contains"] in output.text
    assert output.text.startswith("中文\n")
    assert "\\xff" in output.text


async def test_terminal_sequences_are_cleaned(work: Workspace) -> None:
    output = await ran(work, r"printf '\033[31mred\033[0m \033]0;title\007end\n'")
    assert output.text.startswith("red end\n")


async def test_each_call_starts_in_the_project_folder(work: Workspace) -> None:
    """SHL-11"""
    (work.root / "sub").mkdir()
    commands = CASES["SHL-11"]["input"]["command"]
    outputs = [await ran(work, command) for command in commands]
    assert outputs[0].text.startswith(f"{work.root}/sub\n")
    assert outputs[1].text.startswith(f"{work.root}\n")
    assert "alive" in outputs[3].text
    assert all(f"in {work.root}]" in output.text for output in outputs)


async def test_a_project_folder_that_is_gone_is_named(work: Workspace) -> None:
    work.root.rmdir()
    with pytest.raises(ToolError, match=f"{work.root} is gone"):
        await ran(work, "ls")


async def test_the_keys_of_the_server_are_not_seen(
    work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SHL-13"""
    case = CASES["SHL-13"]
    for name in (*case["input"]["server_env"], "DEEPSEEK_API_KEY", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "sk-canary-1")
    output = await ran(work, case["input"]["command"])
    assert "PATH=" in output.text
    assert "sk-canary-1" not in output.text


async def test_a_very_long_command_runs(work: Workspace) -> None:
    """SHL-14"""
    command = f"cat <<'E' | wc -c\n{'x' * 200_000}\nE"
    assert (await judged(work, shell_exec, command=command)).level is Level.ASK
    assert (await ran(work, command)).text.startswith("200001\n")


async def test_a_command_that_is_too_long_is_refused_clearly(work: Workspace) -> None:
    with pytest.raises(ToolError, match="write_file"):
        await ran(work, "x" * 1_000_001)


@pytest.mark.parametrize("endless", ["yes RUN31", "tail -f /dev/null RUN27", "sleep RUN31d"])
async def test_a_command_that_never_ends_meets_its_time_limit(
    work: Workspace, endless: str
) -> None:
    """FM083"""
    endless = endless.replace("RUN", RUN)
    output = await ran(work, f"echo begin; {endless}", timeout_seconds=3)
    assert told(output).stopped == "time_limit"
    assert "begin" in output.text
    assert "ended after 3 s, the time limit" in output.text
    assert len(output.text) <= work.limits.tool_result_chars
    assert alive(endless) == []


async def test_long_output_keeps_head_and_tail_and_the_whole_in_a_file(work: Workspace) -> None:
    output = await border(await ran(work, "seq 1 100000"), work, "c1")
    lines = output.text.split("\n")
    assert output.truncated
    assert 'read_file {"path": "output:c1"}' in lines[0]
    assert lines[1:3] == ["1", "2"]
    assert lines[-2] == "100000"
    assert work.files is not None
    whole = (work.files / "outputs" / "s1" / "c1.txt").read_text()
    assert whole == "".join(f"{n}\n" for n in range(1, 100_001))


async def test_output_is_bounded_in_memory(work: Workspace) -> None:
    command = "head -c 60000000 /dev/zero | tr '\\0' 'x'"
    output = await ran(replace(work, files=None), command)
    assert len(output.text) <= work.limits.tool_result_chars
    assert "could not be kept" in output.text


LEFT_BEHIND = [
    "sleep 161803RUN &",
    "(setsid sleep 161803RUN &)",
    "(trap '' TERM; sleep 161803RUN) &",
    "nohup setsid bash -c 'trap \"\" TERM HUP; sleep 161803RUN' >/dev/null 2>&1 &",
    "env -i setsid sleep 161803RUN & disown",
    "bash -c 'setsid setsid sleep 161803RUN & exit' ; exec 3>&1",
]


@pytest.mark.parametrize("command", LEFT_BEHIND)
async def test_nothing_is_left_behind_and_nothing_is_waited_for(
    work: Workspace, means: str, command: str
) -> None:
    """FM084: a child that holds the output does not hold the result."""
    command = command.replace("RUN", RUN)
    async with asyncio.timeout(20):
        output = await ran(work, f"{command}\necho shell ends")
    assert "shell ends" in output.text
    assert told(output).status == 0
    assert alive(f"sleep 161803{RUN}") == []


async def test_a_command_that_kills_its_guard_leaves_nothing(work: Workspace) -> None:
    work = replace(work, sandbox=SandboxSettings(mode="off"))
    output = await ran(work, f"echo a; kill -9 $PPID; sleep 141421{RUN}")
    assert output.text.startswith("a\n[exit status unknown;")
    assert alive(f"sleep 141421{RUN}") == []


async def test_a_signal_is_a_status(work: Workspace) -> None:
    assert told(await ran(work, "kill -9 $$")).status == 137


SERVER = """
import asyncio, sys
from pathlib import Path
from shipmate.safety.sandbox.room import Room
from shipmate.tools.collected import Collected
from shipmate.tools.processes import start
async def main():
    room = Room(sys.argv[3], Path(sys.argv[2]))
    command = await start(sys.argv[1], room, "test:1", Collected(1000, None))
    print("started", flush=True)
    await command.wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_commands_end_when_the_server_dies(
    work: Workspace, means: str, number: signal.Signals
) -> None:
    """SHL-15"""
    script = f"trap '' TERM; setsid sleep 173205{RUN} & sleep 173205{RUN}"
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, script, str(work.root), means], stdout=subprocess.PIPE
    )
    try:
        await until(lambda: len(alive(f"sleep 173205{RUN}")) >= 3)
    finally:
        server.send_signal(number)
        server.communicate()
    await until(lambda: alive(f"sleep 173205{RUN}") == [], 5)


async def test_what_outlived_its_guard_is_swept_by_its_mark(work: Workspace) -> None:
    mark = processes.owner(work.files)
    env = {**os.environ, remains.MARK: f"{mark}:x"}
    ours = subprocess.Popen(["sleep", "100"], env=env)
    other = subprocess.Popen(["sleep", "100"], env={**env, remains.MARK: "other:x"})
    try:
        assert remains.sweep(mark) == 1
        assert ours.wait(5) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


async def test_what_is_swept_is_gone_when_that_is_told(work: Workspace) -> None:
    """A process of much memory loses its mark at once and takes a while to end (0.1 s)."""
    mark = processes.owner(work.files)
    much = "held = b'x' * 300_000_000; print(flush=True); import time; time.sleep(600)"
    env = {**os.environ, remains.MARK: f"{mark}:x"}
    ours = subprocess.Popen([sys.executable, "-c", much], env=env, stdout=subprocess.PIPE)
    try:
        assert ours.stdout is not None
        ours.stdout.readline()
        assert remains.sweep(mark) == 1
        assert remains.below(ours.pid) == set()
    finally:
        ours.kill()
        ours.communicate()


async def test_a_background_command_is_polled_and_ended(work: Workspace) -> None:
    started = await ran(work, f"echo ready; sleep 223606{RUN}; echo never", background=True)
    name = told(started).background
    assert not started.is_error
    texts = list[str]()

    async def polled() -> ToolOutput:
        output = await ran(work, "", background_id=name, action="poll")
        texts.append(output.text)
        return output

    async with asyncio.timeout(10):
        while "ready" not in "".join(texts):
            assert told(await polled()).background == name
    again = await polled()
    assert again.text.startswith(f"[{name} is still running"), "only what is new"
    ended = await ran(work, "", background_id=name, action="end")
    assert not ended.is_error
    assert alive(f"sleep 223606{RUN}") == []
    with pytest.raises(ToolError, match="no background command"):
        await polled()


async def test_waiting_for_a_background_command_gives_its_status(work: Workspace) -> None:
    started = await ran(work, "echo done; exit 4", background=True)
    output = await ran(work, "", background_id=told(started).background, action="wait")
    assert told(output).status == 4
    assert output.text.startswith("done\n[")


async def test_another_session_does_not_see_a_background_command(work: Workspace) -> None:
    name = told(await ran(work, f"sleep 244948{RUN}", background=True)).background
    other = replace(work, session="s2")
    with pytest.raises(ToolError, match="none is running"):
        await ran(other, "", background_id=name, action="end")
    await end_background("s1")
    assert alive(f"sleep 244948{RUN}") == []


async def test_looking_after_a_background_command_needs_no_approval(work: Workspace) -> None:
    verdict = await judged(work, shell_exec, backgroundId="bg1", action="poll", command="rm -rf x")
    assert verdict.level is Level.ALLOW
    with pytest.raises(ToolError, match="bg1"):
        await ran(work, "rm -rf x", background_id="bg1")
