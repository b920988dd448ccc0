"""What is there and what is missing, as `shipmate doctor` tells it."""

import asyncio
import sys
from typing import Literal

import msgspec

from shipmate.errors import ShipmateError
from shipmate.handlers.route import Answer, Call, Nothing, endpoint


class Finding(msgspec.Struct, frozen=True):
    what: str
    state: Literal["ok", "note", "bad"]
    """`note`: something is missing that one can do without."""
    detail: str


class Findings(msgspec.Struct, frozen=True):
    findings: list[Finding]


@endpoint("GET", "/api/doctor", scope="admin", answer=Findings)
async def doctor(call: Call[Nothing]) -> Answer:
    """What `shipmate doctor` finds on the server's machine: it is asked in a process of its own,
    so that nothing it tries holds up the server."""
    command = ("-m", "shipmate", "doctor", "--json", "--data", str(call.house.config.data))
    pipe = asyncio.subprocess.PIPE
    asked = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    told, complaint = await asked.communicate()
    try:
        found = [msgspec.json.decode(line, type=Finding) for line in told.split(b"\n") if line]
    except msgspec.DecodeError as error:
        raise ShipmateError(f"shipmate doctor said something else: {error}") from error
    if not found:
        raise ShipmateError(f"shipmate doctor failed: {complaint.decode(errors='replace')[-500:]}")
    return Findings(found)
