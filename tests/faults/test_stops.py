"""Stop, in each phase of a round: it is over within a second, nothing is left, the next works."""

import http.client
import os
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from shipmate.agent.compaction import ASK as SUM_UP
from tests.cli.server import Served, served
from tests.faults.reader import Event, Reader
from tests.faults.table import TABLE, share
from tests.faults.trial import CHAT
from tests.provider import Answer, Provider, call_reply, error_reply, text_reply

TIMES, SAMPLE = 50, 1
STOPPED_S = 1.0
"""What is claimed; held where it is tried in full, on a machine that does nothing else."""
ENOUGH = 60.0
"""Seconds for what is only waited for, on the slowest of machines."""
MARK = f"86400.{os.getpid()}"
"""In the command line of each process that a command starts."""
WORDS = text_reply(*["word "] * 200)
CALL = call_reply(("write_file", {"path": "never.txt", "content": "x" * 3000}))
SLEEP = ("shell_exec", {"command": f"sleep {MARK}"})
TREE = ("shell_exec", {"command": f"(trap '' TERM; sleep {MARK} & sleep {MARK}; true) & wait"})
AGENT = ("call_agent", {"agent": "explorer", "task": "look"})
HELPER = ("call_agent", {"agent": "assistant", "task": "run it"})
BIG = [("read_file", {"path": f"big{number}.txt"}) for number in range(3)]
"""Files that fill the window of the model `small`."""
ASK = ("ask_user", {"question": "Which?"})


@dataclass(frozen=True)
class Phase:
    """`reached` is asked with each event, or `asks`: it is reached with a request that holds these
    words. `approve`: the call that waits is approved first; `queue`: a message waits as well."""

    name: str
    answers: tuple[Answer, ...]
    reached: Callable[[Event], bool] = lambda _event: False
    asks: str = ""
    model: str = "fake/m"
    approve: bool = False
    queue: bool = False
    runs: bool = False
    """Reached when the command's process is there."""


def kind(wanted: str) -> Callable[[Event], bool]:
    return lambda event: event["type"] == wanted


def hang(body: bytes) -> Answer:
    return Answer(body, after="hang")


PHASES = (
    Phase("just sent", (hang(b""),), kind("user")),
    Phase("queued", (hang(b""),), kind("stream_start"), queue=True),
    Phase("connecting", (Answer(b"", after="hang"),), kind("stream_start")),
    Phase("first byte", (hang(b": hello\n\n"),), kind("stream_start")),
    Phase("streaming", (Answer(WORDS, split=150, delay=0.01),), kind("delta")),
    Phase(
        "arguments of a call",
        (hang(text_reply("I ")[:60] + CALL[: len(CALL) // 2]),),
        kind("stream_start"),
    ),
    Phase("approval pending", (Answer(CALL),), kind("done")),
    Phase("question pending", (Answer(call_reply(ASK)),), kind("done")),
    Phase("command", (Answer(call_reply(SLEEP)),), approve=True, runs=True),
    Phase("processes that ignore TERM", (Answer(call_reply(TREE)),), approve=True, runs=True),
    Phase(
        "sub-agent",
        (Answer(call_reply(AGENT)), hang(b"")),
        lambda event: event["type"] == "stream_start" and bool(event.get("parent")),
    ),
    Phase(
        "command of a sub-agent",
        (Answer(call_reply(HELPER)), Answer(call_reply(SLEEP))),
        approve=True,
        runs=True,
    ),
    Phase(
        "compaction",
        # The round may go on beside the summary: neither it nor the summary comes to an end
        (*(Answer(call_reply(read), when='"tools"') for read in BIG), hang(b""), hang(b"")),
        asks=SUM_UP[:40],
        model="fake/small",
    ),
    Phase("wait before a retry", (error_reply(503),), kind("retry")),
    Phase("last words", (hang(WORDS.removesuffix(b"data: [DONE]\n\n")),), kind("delta")),
)


@pytest.fixture
def speaker(tmp_path: Path) -> Generator[Provider]:
    made = Provider()
    (tmp_path / "project").mkdir()
    for _, read in BIG:
        (tmp_path / "project" / read["path"]).write_text("many words of a file\n" * 450)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "config.toml").write_text(
        f'[providers.fake]\ntype = "openai"\nbase_url = "{made.url}"\n'
        'models = [{ id = "m" }, { id = "small", context_length = 3000 }]\n'
        f'[projects.demo]\npath = "{tmp_path / "project"}"\n'
    )
    yield made
    made.close()
    assert made.broken == []


def processes() -> int:
    """How many processes of commands there are."""
    found = subprocess.run(["pgrep", "-f", f"sleep {MARK}"], capture_output=True, check=False)
    return len(found.stdout.split())


def wait_for(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + ENOUGH
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def begin(server: Served, body: Mapping[str, object]) -> tuple[http.client.HTTPResponse, Reader]:
    return server.open("POST", CHAT, body), Reader()


def read_until(
    answer: http.client.HTTPResponse, reader: Reader, wanted: Callable[[Event], bool]
) -> Event:
    while data := answer.read1(65536):
        for event in reader.feed(data):
            reader.session = event.get("session", reader.session)
            if wanted(event) or event["type"] == "done":
                return event
    raise AssertionError("the stream ended without `done`")


def reach(
    server: Served, speaker: Provider, phase: Phase
) -> tuple[http.client.HTTPResponse, Reader]:
    """A round that is in that phase, and who follows it."""
    speaker.seen.clear()
    speaker.queue(*phase.answers)
    new = {"provider": phase.model, "project": "demo", "task": phase.name}
    answer, reader = begin(server, new)
    event = read_until(answer, reader, kind("user") if phase.asks else phase.reached)
    if phase.asks:
        assert wait_for(lambda: any(phase.asks in str(s.body) for s in speaker.seen))
    if phase.queue:
        later = {"session": reader.session, "text": "later"}
        server.api("POST", "/api/queue", later)
    if phase.approve:
        assert event["reason"] == "waiting_approval"
        server.api("POST", "/api/agent/approval", {"session": reader.session, "approved": True})
    if phase.approve or event["type"] == "done":
        answer.close()
        answer = server.open("POST", CHAT, {"session": reader.session})
    if phase.runs:
        assert wait_for(lambda: processes() > 0), "the command does not run"
    return answer, reader


def stop(server: Served, speaker: Provider, phase: Phase) -> tuple[float, int]:
    """Seconds until it was over, and how many processes were left."""
    answer, reader = reach(server, speaker, phase)
    with answer:
        begun = time.monotonic()
        server.api("POST", "/api/agent/stop", {"session": reader.session})
        view = server.api("GET", f"/api/agent/sessions/{reader.session}")
        seconds = time.monotonic() - begun
        if "pending" not in phase.name:
            done = read_until(answer, reader, lambda event: event["type"] == "done")
            seconds = max(seconds, time.monotonic() - begun)
            assert (done.get("finished"), done["reason"]) == (False, "stopped"), phase.name
    assert view["session"]["status"] == "idle"
    wait_for(lambda: processes() == 0)
    left = processes()
    speaker.queued.clear()
    told = server.events(CHAT, {"session": reader.session, "message": "and now?"})
    assert told[-1]["finished"] is True, phase.name
    return seconds, left


@pytest.mark.timeout(1800)
def test_stop_in_each_phase_is_over_at_once_and_leaves_nothing(
    tmp_path: Path, speaker: Provider, full: bool
) -> None:
    took: dict[str, list[float]] = {}
    survivors = 0
    with served(tmp_path / "data") as server:
        warm = {"provider": "fake/m", "project": "demo", "task": "hello"}
        assert server.events(CHAT, warm)[-1]["finished"] is True  # what is heavy is imported
        for _ in range(TIMES if full else SAMPLE):
            for phase in PHASES:
                seconds, left = stop(server, speaker, phase)
                took.setdefault(phase.name, []).append(seconds)
                survivors += left
    every = [seconds for times in took.values() for seconds in times]
    slowest = max(took, key=lambda name: share(took[name], 99))
    TABLE.put("stops", f"{len(every)} in {len(PHASES)} phases")
    TABLE.put("stop, p50", f"{share(every, 50) * 1000:.0f} ms")
    TABLE.put("stop, p99", f"{share(every, 99) * 1000:.0f} ms (slowest: {slowest})")
    TABLE.put("processes left", survivors)
    assert survivors == 0
    assert share(every, 99) <= STOPPED_S or not full
    assert not (tmp_path / "project" / "never.txt").exists()
