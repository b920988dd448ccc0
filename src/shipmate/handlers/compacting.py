"""Compaction by hand, and what becomes of a summary."""

from typing import Annotated

import msgspec
from msgspec import Meta

from shipmate.handlers.decisions import OfSession
from shipmate.handlers.reach import OF_SESSION as ONE
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.protocol import Summary


class Compacted(msgspec.Struct, frozen=True):
    tokens_before: int
    """Of the next request, about."""
    tokens_after: int
    summary: Summary
    """The block that stands for what is left out."""


class Edited(Input, frozen=True, kw_only=True):
    block: str
    """Id of the summary."""
    text: Annotated[str, Meta(max_length=100_000)]


@endpoint("POST", "/api/agent/compact", scope="run", body=OfSession, answer=Compacted)
async def compact(call: Call[OfSession]) -> Answer:
    """Sum up the older messages now. What is stored stays. 409: there is nothing to sum up."""
    made = await call.house.executor.compacting.now(call.given.session)
    return Compacted(made.tokens_before, made.tokens_after, made)


@endpoint("PATCH", ONE + "/summary", scope="run", body=Edited, answer=Summary)
async def edit_summary(call: Call[Edited]) -> Answer:
    """Change the text that the model is sent in place of what was summed up."""
    given = call.given
    return await call.house.executor.compacting.edit(call.path["id"], given.block, given.text)


@endpoint("DELETE", ONE + "/summary/{block}", scope="run", answer=Summary)
async def undo_summary(call: Call[Nothing]) -> Answer:
    """Take a summary back: the model is sent again what it replaced."""
    return await call.house.executor.compacting.undo(call.path["id"], call.path["block"])
