"""An issue or a pull request is given to an agent: in a new session, or in one that there is."""

from typing import Annotated

import msgspec
from msgspec import Meta

from shipmate.github.attachment import attachment
from shipmate.handlers.fresh import check_agent, check_model, check_project
from shipmate.handlers.reach import repository_of
from shipmate.handlers.route import Answer, Call, Input, endpoint
from shipmate.protocol import SessionRow

Number = Annotated[int, Meta(ge=1, le=2**53)]


class Preview(Input, frozen=True, kw_only=True):
    project: str
    number: Number


class Attachable(msgspec.Struct, frozen=True):
    """What would be attached, as it stands now."""

    name: str
    title: str
    text: str


class Dispatch(Input, frozen=True, kw_only=True):
    project: str
    """Whose repository has the issue; id or name."""
    number: Number
    instruction: Annotated[str, Meta(min_length=1, max_length=20_000)]
    """What the agent is to do with it, in the user's words."""
    session: str = ""
    """The session it is attached to; empty: a new one is made."""
    agent: str = "assistant"
    provider: str = ""
    """Of a new session: `provider/model`."""
    client_id: Annotated[str, Meta(max_length=100)] = ""
    """Sent again with the same one, it is dispatched once."""


class Dispatched(msgspec.Struct, frozen=True):
    session: SessionRow
    queued: bool
    """The session is at work: it waits for its final answer."""


@endpoint("GET", "/api/dispatch", scope="read", query=Preview, answer=Attachable)
async def dispatch_preview(call: Call[Preview]) -> Answer:
    """What of an issue or a pull request an agent would be given."""
    repository, _ = await repository_of(call, call.given.project)
    made = await attachment(repository, call.given.number)
    return Attachable(made.name, made.title, made.text)


@endpoint(
    "POST",
    "/api/dispatch",
    scope="run",
    body=Dispatch,
    answer=Dispatched,
    audit=("project", "number", "session", "agent"),
)
async def dispatch(call: Call[Dispatch]) -> Answer:
    """Give an issue or a pull request with its comments to an agent. A new session has no bypass,
    and as strangers wrote what is attached, nothing of the network and no command is approved
    ahead in it. In a session at work it is queued."""
    asked, executor = call.given, call.house.executor
    repository, _ = await repository_of(call, asked.project)
    given, client_id = [await attachment(repository, asked.number)], asked.client_id
    if asked.session:
        queued = await executor.queue.add(
            asked.session, asked.instruction, attachments=given, client_id=client_id
        )
        row = await executor.store.session(asked.session)
        waits = any(q.id == queued.id for q in await executor.queue.items(row.id))
        return Dispatched(row, waits)
    row = await executor.create(
        agent=check_agent(call.house.profiles(), asked.agent),
        provider=check_model(call.house, asked.provider),
        project=check_project(call, asked.project),
        client_id=asked.client_id,
        owner=call.caller.user,
    )
    await executor.send(row.id, asked.instruction, attachments=given, client_id=client_id)
    return Dispatched(await executor.store.session(row.id), queued=False)
