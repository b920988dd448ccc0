"""One story on a real server that is killed on the way, and started again as often as needed."""

import json
import signal
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from shipmate.cli.server_file import read
from shipmate.faults import KILL_AT
from tests.cli.server import Served, command, environment
from tests.faults.director import CALLS, CONTENT, Director
from tests.faults.reader import BROKEN, Reader

CHAT = "/api/agent/chat/stream"
ENOUGH = 60.0
"""Seconds in which a reader has caught up, and a server has swept, on the slowest of machines."""
PATIENCE = 300.0
"""Seconds after which a story is taken for one without an end, on the slowest of machines."""


@dataclass
class Trial:
    """`kills`: where each server in turn is killed; a number is seconds after its start, the
    servers after them live. `ends`: how the story is led to the point."""

    folder: Path
    kills: list[str | float]
    stops: bool = False
    deletes: bool = False
    dismisses: bool = False
    """The first server is killed while it answers; what it left is dismissed."""
    compacts: bool = False
    terminates: bool = False
    killed: int = 0
    ready: list[float] = field(default_factory=list[float])
    """Seconds from each start after a kill to the first line."""
    reader: Reader = field(default_factory=Reader)
    faults: Counter[str] = field(default_factory=Counter[str])
    told: list[str] = field(default_factory=list[str])
    """Each fault with the kill it came of, for who reads the failure."""
    acknowledged: set[str] = field(default_factory=set[str])
    """The messages, by what their client calls them, that a server has said yes to."""
    served: Served | None = None
    stopped: bool = False
    meant: int = 0
    """How many kills are due."""
    over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> "Trial":
        """Play the whole story; what went wrong is in `faults`."""
        self.meant = len(self.kills)
        self.planned = " then ".join(str(one or "live") for one in self.kills)
        self.project = self.folder / "project"
        self.data = self.folder / "data"
        self.project.mkdir(parents=True)
        self.data.mkdir()
        for name in ("a.txt", "b.txt"):
            (self.project / name).write_text(f"this is {name}\n")
        self.provider = Director()
        (self.data / "config.toml").write_text(
            f'[providers.fake]\ntype = "openai"\nbase_url = "{self.provider.url}"\n'
            f'models = [{{ id = "m" }}]\n[projects.demo]\npath = "{self.project}"\n'
        )
        self.deadline = time.monotonic() + PATIENCE
        follower = threading.Thread(target=self._follow)
        try:
            new = {"provider": "fake/m", "project": "demo", "task": "Go."}
            self.reader.session = self._say("first", **new)
            follower.start()
            self._lead()
            self._check()
        finally:
            self.over.set()
            if self.served:
                self._end(self.served, signal.SIGKILL)
            if follower.is_alive():
                follower.join()
            self.provider.close()
        self._fault("invalid requests", len(self.provider.broken), self.provider.broken)
        return self

    def _fault(self, name: str, count: int, which: object = "") -> None:
        self.faults[name] += count
        if count:
            self.told.append(f"killed at {self.planned}: {name}: {count} {which}".rstrip())

    @property
    def ends(self) -> bool:
        """The first answer is cut off; else a message steers it."""
        return self.stops or self.terminates or self.dismisses

    # --- servers --------------------------------------------------------------------------

    def server(self) -> Served:
        """The server that lives; the next one when there is none."""
        while self.served is None or self.served.process.poll() is not None:
            assert time.monotonic() < self.deadline, f"the story of {self.planned} came to no end"
            if self.served:
                self.killed += 1
                self._end(self.served, signal.SIGKILL)
            self.served = self._start()
        return self.served

    def _start(self) -> Served | None:
        kill = self.kills.pop(0) if self.kills else ""
        extra = {KILL_AT: kill} if isinstance(kill, str) and kill else {}
        begun = time.monotonic()
        process = subprocess.Popen(
            command("serve", "--data", self.data, "--port", "0", "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(**extra),
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.stdout.close()
            assert process.wait(ENOUGH) == -signal.SIGKILL, "the server does not start"
            self.killed += 1
            return None
        if self.killed:
            self.ready.append(time.monotonic() - begun)
        told, running = json.loads(line), read(self.data)
        assert running is not None
        if isinstance(kill, float):
            threading.Timer(kill, process.kill).start()
        return Served(process, told["url"], told["token_url"], running.token)

    def _end(self, served: Served, number: int) -> None:
        assert served.process.stdout is not None
        served.process.send_signal(number)
        served.process.wait(ENOUGH)
        served.process.stdout.close()

    def api(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and answer; asked again of the next server when this one dies."""
        while True:
            server = self.server()
            try:
                bearer = f"Bearer {server.token}"
                status, headers, content = server.request(method, path, body, Authorization=bearer)
                if status == 429:  # as who asks again and again is told
                    time.sleep(float(headers["retry-after"]))
                elif status != 503:
                    return status, json.loads(content) if content else None
                else:  # it is ending
                    self._gone(server)
            except BROKEN:
                self._gone(server)

    def _gone(self, server: Served) -> None:
        server.process.wait(ENOUGH)

    # --- the story ------------------------------------------------------------------------

    def _say(self, client: str, **body: str) -> str:
        """Say something until it is acknowledged, with the same `client_id`; the session."""
        while True:
            server = self.server()
            try:
                session = acknowledged(server, {**body, "client_id": client})
            except HTTPError as refused:
                with refused:
                    if refused.code not in (429, 503):
                        raise
                    time.sleep(float(refused.headers.get("retry-after") or 0.1))
            except BROKEN:
                self._gone(server)
            else:
                self.acknowledged.add(client)
                return session

    def _queue(self, client: str, text: str) -> None:
        body = {"session": self.reader.session, "text": text, "client_id": client}
        status, answer = self.api("POST", "/api/queue", body)
        assert status == 200, (status, answer)
        self.acknowledged.add(client)

    def _lead(self) -> None:
        """Do what the state asks for, as a person would, until all has been said."""
        self._go_on_to_the_end()
        assert {"first", "later"} <= self.acknowledged, self.acknowledged
        self._finish()

    def _go_on_to_the_end(self) -> None:
        """Until nothing runs, nothing waits, and nothing is queued."""
        while True:
            assert time.monotonic() < self.deadline, f"the story of {self.planned} came to no end"
            status, view = self.api("GET", f"/api/agent/sessions/{self.reader.session}")
            assert status == 200, (status, view)
            row = view["session"]
            if row["status"] == "running":
                self._meddle(view)
            elif row["status"] != "idle":
                self._go_on(row)
            elif self._is_over():
                break
            time.sleep(0.01)

    def _go_on(self, row: dict[str, Any]) -> None:
        session = self.reader.session
        match row["status"]:
            case "waiting_approval":
                if "later" not in self.acknowledged:
                    self._queue("later", "And then?")
                asked = {"session": session, "approved": True, "id": row["pending_approval"]}
                self.api("POST", "/api/agent/approval", asked)
            case "waiting_answer":
                self.api("POST", "/api/agent/answer", {"session": session, "answer": "Blue."})
            case _:
                word = "dismiss" if self.dismisses and self.stopped else "resume"
                self.api("POST", f"/api/agent/{word}", {"session": session})

    def _meddle(self, view: dict[str, Any]) -> None:
        """What some stories do while the first answer is being said."""
        speaks = any(live["text"].startswith("Answer") for live in view["live"])
        if speaks and not self.ends and "steers" not in self.acknowledged:
            self._say("steers", session=self.reader.session, message="This, too.")
            return
        if speaks and not self.stopped and self.ends:
            self.stopped = True
            if self.dismisses:
                self.server().process.kill()
            elif self.terminates:
                self.server().process.send_signal(signal.SIGTERM)
                self.server().process.send_signal(signal.SIGTERM)
            else:
                self.api("POST", "/api/agent/stop", {"session": self.reader.session})

    def _is_over(self) -> bool:
        """What was idle a moment ago still is, and nothing is queued: what is said by itself is
        said in between."""
        _, queue = self.api("GET", f"/api/queue?session={self.reader.session}")
        if not queue["items"]:
            _, view = self.api("GET", f"/api/agent/sessions/{self.reader.session}")
            return view["session"]["status"] == "idle"
        if self.stopped:  # else what is queued is said by itself, whoever died meanwhile
            first = {"session": self.reader.session, "id": queue["items"][0]["id"]}
            self.api("POST", "/api/queue/send", first)
        return False

    def _finish(self) -> None:
        """What comes after the last answer: a title, a deletion, a kill that is still due."""
        session = self.reader.session
        if self.compacts:
            self._compact()
        if self.deletes:
            assert self.api("DELETE", f"/api/agent/sessions/{session}")[0] in (204, 404)
        due = time.monotonic() + (0.5 if self.kills or not self.killed else 0)
        while time.monotonic() < due and self.server().process.poll() is None:
            time.sleep(0.02)
        self.server()

    def _compact(self) -> None:
        """Sum up, however often the server dies of it, and say one thing more."""
        session = self.reader.session
        status, _ = self.api("POST", "/api/agent/compact", {"session": session})
        assert status in (200, 409), status
        self._queue("after", "And after all?")
        self._go_on_to_the_end()

    # --- what must hold -------------------------------------------------------------------

    def _follow(self) -> None:
        """Follow the session all the time, over every death of the server."""
        while not self.over.is_set():
            served = self.served
            try:
                if served and served.process.poll() is None:
                    self.reader.follow(served)
            except BROKEN:
                pass
            self.over.wait(0.01)

    def _check(self) -> None:
        if self.deletes:
            status, _ = self.api("GET", f"/api/agent/sessions/{self.reader.session}")
            self._fault("deleted sessions there", status != 404)
            return
        _, view = self.api("GET", f"/api/agent/sessions/{self.reader.session}?limit=1000")
        blocks: list[dict[str, Any]] = view["blocks"]
        said = Counter(b.get("client_id") for b in blocks if b["type"] == "user")
        lost = sorted(client for client in self.acknowledged if not said[client])
        doubled = sorted(client for client in self.acknowledged if said[client] > 1)
        self._fault("messages lost", len(lost), f"{lost} of {shown(view)}")
        self._fault("messages doubled", len(doubled), doubled)
        self._fault("messages unanswered", blocks[-1]["type"] == "user", shown(view))
        made = sum(b["type"] == "summary" for b in blocks)
        self._fault("summaries lost", self.compacts and made == 0)
        self._check_tools(blocks)
        self._check_reader(view)

    def _check_tools(self, blocks: list[dict[str, Any]]) -> None:
        calls = [b for b in blocks if b["type"] == "tool"]
        results = Counter(b["call"] for b in blocks if b["type"] == "tool_result")
        odd = [call["name"] for call in calls if results[call["id"]] != 1]
        self._fault("calls without one result", len(odd), odd)
        self._fault("calls lost", len(calls) != CALLS, len(calls))
        unknown = any("unknown" in b["text"] for b in blocks if b["type"] == "tool_result")
        for name, whose in (("log.txt", "tools"), ("below.txt", "tools of sub-agents")):
            log = self.project / name
            runs = log.read_text().count("ran") if log.exists() else 0
            self._fault(f"{whose} run twice", runs > 1)
            self._fault(f"{whose} not run", runs == 0 and not unknown)
        out = self.project / "out.txt"
        self._fault("files in halves", out.exists() and out.read_text() != CONTENT)
        self._fault("files not written", not out.exists() and not unknown)
        self._fault("temporary files left", self._leftovers())

    def _leftovers(self) -> int:
        """After the sweep at the start, which is given some time."""
        until = time.monotonic() + ENOUGH
        while (left := list(self.project.glob(".shipmate-*"))) and time.monotonic() < until:
            time.sleep(0.05)
        return len(left)

    def _check_reader(self, view: dict[str, Any]) -> None:
        reader, blocks = self.reader, {b["id"]: b for b in view["blocks"]}
        until = time.monotonic() + ENOUGH
        while reader.blocks != blocks and time.monotonic() < until:
            time.sleep(0.01)
        differ = [name for name, block in blocks.items() if reader.blocks.get(name) != block]
        differ += [name for name in reader.blocks if name not in blocks]
        self._fault("blocks a reader has not", bool(differ), differ)
        self._fault("gaps", reader.gaps)
        self._fault("duplicates", reader.duplicates)
        self._fault("texts that differ", reader.wrong)


def shown(view: dict[str, Any]) -> str:
    """The last of a session, for who reads a failure."""
    kinds = [f"{b['type']} {b.get('client_id') or b.get('code') or ''}" for b in view["blocks"]]
    return f"a session that is {view['session']['status']}: … {', '.join(kinds[-8:])}"


def acknowledged(server: Served, body: dict[str, Any]) -> str:
    """Say something and leave as soon as it is told back; the session."""
    reader = Reader()
    with server.open("POST", CHAT, body) as answer:
        while data := answer.read1(65536):
            for event in reader.feed(data):
                if event["type"] == "user" and event.get("client_id") == body["client_id"]:
                    return event["session"]
                if event["type"] == "done":
                    return event["session"]
    raise ConnectionError("the stream ended before the message was told")
