"""An MCP server over stdio with bad manners, driven by a scenario in JSON.

    fake_server.py scenario.json [log.jsonl]

Keys: name, pages [[tool, ...], ...], cursor "same", generate_tools, description_chars,
results {tool: result}, echo, echo_env with env, delay_ms {method: ms}, stdout_before [line, ...],
stdout_between line, garbage_per_second, stderr_on_start n, stderr_on_call n, die_at_start, die_on
tool, die_after seconds, hang_on tool, deaf (stays when its input ends), asks [[method, params],
...] (sent in a call, which is answered after them), fail_with text, child (starts one that lasts:
"heavy" with much memory, "escaped" in a session of its own, "unmarked" with an empty environment,
"nameless" with both), after_call {tool: {then_pages, notify}}, server_requests [method, ...] and
odd (sent during the first call), flood n, progress n.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

SCENARIO: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
LOG = Path(sys.argv[2]).open("a") if len(sys.argv) > 2 else None  # noqa: SIM115 - to the end
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


def out(message: Any, *, raw: bool = False) -> None:
    sys.stdout.write((message if raw else json.dumps(message)) + "\n")
    sys.stdout.flush()


def note(what: Any) -> None:
    if LOG:
        LOG.write(json.dumps(what) + "\n")
        LOG.flush()


def err(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def expanded(value: Any) -> Any:
    """`{"generate": "repeat:TEXT:CHARS"}` as its text."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if "generate" in fields:
            _, text, count = str(fields["generate"]).split(":")
            made = (text * (int(count) // len(text) + 1))[: int(count)]
            return {k: v for k, v in fields.items() if k != "generate"} | {"text": made}
        return {k: expanded(v) for k, v in fields.items()}
    return [expanded(v) for v in cast("list[Any]", value)] if isinstance(value, list) else value


def listed() -> list[list[Any]]:
    if count := SCENARIO.get("generate_tools"):
        text = "d" * SCENARIO.get("description_chars", 10)
        return [[{"name": f"gen_{i}", "description": text, "inputSchema": EMPTY}
                 for i in range(count)]]  # fmt: skip
    return SCENARIO.get("pages") or [[]]


class Server:
    def __init__(self) -> None:
        self.pages = listed()
        self.asked = False
        self.held: tuple[Any, Any, int] = (None, None, 0)

    def heard(self) -> None:
        """One of `asks` was answered."""
        number, result, left = self.held
        self.held = (number, result, left - 1)
        if left == 1:
            self.ok(number, result)

    def answer(self, number: Any, method: str, params: dict[str, Any]) -> None:
        match method:
            case "initialize":
                self.ok(number, {
                    "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": SCENARIO.get("name", "fake"), "version": "1"},
                })  # fmt: skip
            case "ping":
                self.ok(number, {})
            case "tools/list":
                self.list(number, params)
            case "tools/call":
                self.call(number, params)
            case _:
                error = {"code": -32601, "message": "Method not found"}
                out({"jsonrpc": "2.0", "id": number, "error": error})

    def ok(self, number: Any, result: Any) -> None:
        out({"jsonrpc": "2.0", "id": number, "result": result})

    def list(self, number: Any, params: dict[str, Any]) -> None:
        same, cursor = SCENARIO.get("cursor") == "same", params.get("cursor")
        page = 0 if same or not cursor else int(cursor)
        result: dict[str, Any] = {"tools": self.pages[page] if page < len(self.pages) else []}
        if same:
            result["nextCursor"] = "0"
        elif page + 1 < len(self.pages):
            result["nextCursor"] = str(page + 1)
        self.ok(number, result)

    def call(self, number: Any, params: dict[str, Any]) -> None:
        tool = params.get("name")
        err("e" * SCENARIO.get("stderr_on_call", 0))
        if SCENARIO.get("die_on") == tool:
            err("Traceback: boom\n")
            os._exit(1)
        if SCENARIO.get("hang_on") == tool:
            return
        self.odd_things(number, params)
        tools = [cast("dict[str, Any]", t) for p in self.pages for t in p if isinstance(t, dict)]
        known = [one.get("name") for one in tools]
        if tool not in known:
            error = {"code": -32602, "message": f"Unknown tool: {tool}"}
            out({"jsonrpc": "2.0", "id": number, "error": error})
            return
        if text := SCENARIO.get("fail_with"):
            error = {"code": -32000, "message": text}
            out({"jsonrpc": "2.0", "id": number, "error": error})
            return
        if asks := SCENARIO.get("asks"):
            self.held = (number, self.result(str(tool), params), len(asks))
            for place, (method, given) in enumerate(asks):
                out({"jsonrpc": "2.0", "id": f"ask-{place}", "method": method, "params": given})
            return
        self.ok(number, self.result(str(tool), params))
        if after := SCENARIO.get("after_call", {}).get(tool):
            self.pages = after["then_pages"]
            out({"jsonrpc": "2.0", "method": after["notify"]})

    def result(self, tool: str, params: dict[str, Any]) -> Any:
        text: Any = None
        if SCENARIO.get("echo_env"):
            text = {name: os.environ.get(name) for name in SCENARIO.get("env", os.environ)}
        elif SCENARIO.get("echo"):
            text = params.get("arguments")
        if text is not None:
            return {"content": [{"type": "text", "text": json.dumps(text)}]}
        plain = {"content": [{"type": "text", "text": "ok"}]}
        return expanded(SCENARIO.get("results", {}).get(tool, plain))

    def odd_things(self, number: Any, params: dict[str, Any]) -> None:
        """Once: requests of its own, answers nobody waits for, a flood, progress."""
        if self.asked:
            return
        self.asked = True
        for place, method in enumerate(SCENARIO.get("server_requests", [])):
            out({"jsonrpc": "2.0", "id": f"srv-{place}", "method": method, "params": {}})
        if SCENARIO.get("odd"):
            out({"jsonrpc": "2.0", "id": 987654321, "result": {}})
            out({"jsonrpc": "2.0", "id": "nobody", "result": {}})
            out({"jsonrpc": "2.0", "id": 10**40, "result": {}})
            out({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}})
            out({"jsonrpc": "2.0", "method": "notifications/message"})
            out({"jsonrpc": "2.0", "method": "notifications/unheard", "params": [1]})
            out({"jsonrpc": "2.0", "id": str(number), "result": {"content": [{"type": "text",
                 "text": "by its id as a string"}]}})  # fmt: skip
        for place in range(SCENARIO.get("flood", 0)):
            out({"jsonrpc": "2.0", "method": "notifications/message",
                 "params": {"level": "info", "data": f"{place}"}})  # fmt: skip
        token = params.get("_meta", {}).get("progressToken")
        for step in range(SCENARIO.get("progress", 0)):
            out({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": token, "progress": step + 1, "total": SCENARIO["progress"],
                "message": f"step {step + 1}"}})  # fmt: skip


def _begin() -> None:
    err("e" * SCENARIO.get("stderr_on_start", 0))
    if child := SCENARIO.get("child"):
        held = 300_000_000 if child == "heavy" else 1
        code = f"held = b'x' * {held}; print(flush=True); import time; time.sleep(600)"
        left = subprocess.Popen(
            [sys.executable, "-c", code],
            start_new_session=child in ("heavy", "escaped", "nameless"),
            stdout=subprocess.PIPE,
            env={} if child in ("unmarked", "nameless") else None,
        )
        assert left.stdout is not None
        left.stdout.readline()
        note({"child": left.pid})
    note({"pid": os.getpid()})
    if SCENARIO.get("die_at_start"):
        err("cannot start: no licence\n")
        sys.exit(3)
    if seconds := SCENARIO.get("die_after"):
        threading.Timer(seconds, os._exit, [1]).start()
    for line in SCENARIO.get("stdout_before", []):
        out(line, raw=True)
    if SCENARIO.get("garbage"):
        for place in range(SCENARIO["garbage"]):
            out(f"garbage {place} \x00\x1b[31m", raw=True)


def main() -> None:
    _begin()
    server = Server()
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        note({"in": message})
        method, number = message.get("method"), message.get("id")
        if method is None and str(number).startswith("ask-"):
            server.heard()
        if method is None or number is None:
            continue
        time.sleep(SCENARIO.get("delay_ms", {}).get(method, 0) / 1000)
        if between := SCENARIO.get("stdout_between"):
            out(between, raw=True)
        server.answer(number, method, message.get("params") or {})
    if SCENARIO.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)


main()
