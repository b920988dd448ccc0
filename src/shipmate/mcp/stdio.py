"""The transport to a process, in the form the SDK's session takes.

Our own, as the SDK's holds lines without bound, logs each line of noise, keeps no word of standard
error, and leaves what a server has started (decision 0011). Messages are read leniently: what has
an id and a result is an answer, whatever else is odd about it.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, cast

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from shipmate.mcp.foreign import as_object
from shipmate.mcp.process import DRAIN, LOOK, Lines, Noise, ServerEndedError, ServerProcess, drain
from shipmate.protocol import clean

Incoming: TypeAlias = SessionMessage | Exception
Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]
]

_WAITING = 10_000
"""Messages to a server that does not read; then its input is full, and it is stopped."""
_decode = msgspec.json.Decoder().decode


@asynccontextmanager
async def stdio(running: ServerProcess, broken: asyncio.Future[str]) -> AsyncGenerator[Streams]:
    """The streams of a running process. When it breaks the rules, `broken` is told why and the
    streams end."""
    into, read = anyio.create_memory_object_stream[Incoming](0)
    write, out = anyio.create_memory_object_stream[SessionMessage](_WAITING)
    process = running.process
    assert process.stdout is not None  # noqa: S101 - made with pipes
    assert process.stderr is not None  # noqa: S101
    tasks = [
        asyncio.ensure_future(drain(process.stderr, running.tail)),
        asyncio.ensure_future(_read(running, Lines(process.stdout), into, broken)),
        asyncio.ensure_future(_write(running, out)),
    ]
    try:
        yield read, write
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for stream in (into, read, write, out):
            stream.close()


async def _read(
    running: ServerProcess,
    lines: Lines,
    into: MemoryObjectSendStream[Incoming],
    broken: asyncio.Future[str],
) -> None:
    ended = asyncio.ensure_future(_ended(running))
    try:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            while whole := await _next(lines, ended):
                for line in whole:
                    if (message := read_message(line, running.noise)) is not None:
                        await into.send(SessionMessage(message))
    except ServerEndedError as error:
        if not broken.done():
            broken.set_result(str(error))
    finally:
        ended.cancel()
        into.close()


async def _next(lines: Lines, ended: asyncio.Future[None]) -> list[bytes]:
    """The next lines. When the process has ended, what is still to come has a moment: a child of
    it may hold the pipe open for ever."""
    reading = asyncio.ensure_future(lines.next())
    try:
        await asyncio.wait([reading, ended], return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            await asyncio.wait([reading], timeout=DRAIN)
        return reading.result() if reading.done() else []
    finally:
        reading.cancel()


async def _ended(running: ServerProcess) -> None:
    """For servers whose pipes stay open when they have ended; the pipe's end tells it at once."""
    while not running.ended:  # noqa: ASYNC110 - nothing tells it
        await asyncio.sleep(LOOK)


async def _write(running: ServerProcess, out: MemoryObjectReceiveStream[SessionMessage]) -> None:
    stdin = running.process.stdin
    async for item in out:
        running.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
        if stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                await stdin.drain()


def read_message(line: bytes, noise: Noise) -> JSONRPCMessage | None:
    """The message of a line; None for an empty one, and for noise, which is counted."""
    if not line.strip():
        return None
    try:
        fields: Any = _decode(line)
    except (msgspec.DecodeError, RecursionError):
        fields = _odd(line)
    made = message_of(cast("Mapping[str, Any]", fields)) if isinstance(fields, dict) else None
    if made is None:
        noise.add(line)
    return made


def _odd(line: bytes) -> Any:
    """JSON with halves of surrogate pairs, NaN or bytes that are no UTF-8; else None."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        found = json.loads(line.decode(errors="replace"))
        return json.loads(clean(json.dumps(found, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None


def message_of(fields: Mapping[str, Any]) -> JSONRPCMessage | None:
    """The message that an object is; None for none."""
    number, method, params = fields.get("id"), fields.get("method"), fields.get("params")
    known = number if isinstance(number, int | str) and not isinstance(number, bool) else None
    if isinstance(method, str):
        given: dict[str, Any] = {"params": params} if isinstance(params, dict) else {}
        if known is None:
            return JSONRPCNotification(jsonrpc="2.0", method=method, **given)
        return JSONRPCRequest(jsonrpc="2.0", id=known, method=method, **given)
    if known is None:
        return None
    if "error" in fields and fields["error"] is not None:
        return JSONRPCError(jsonrpc="2.0", id=known, error=_error(fields["error"]))
    if "result" in fields:
        result = fields["result"]
        # made without a check of each value: a result may have 10 MB, and is read by our models
        return JSONRPCResponse.model_construct(
            jsonrpc="2.0", id=known, result=result if isinstance(result, dict) else {}
        )
    return None


def _error(error: Any) -> ErrorData:
    fields = as_object(error)
    code, message = fields.get("code"), fields.get("message", error)
    whole = code if isinstance(code, int) and not isinstance(code, bool) else 0
    return ErrorData(code=whole, message=str(message), data=fields.get("data"))
