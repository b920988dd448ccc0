"""The OpenAI-compatible door: agents as models, for programs that know only Chat Completions.

A model is `shipmate/<agent>/<project>`. The agent has its own tools and asks as ever; what waits
for a person is shown with the link to its session.
"""

import time
from typing import Any, Literal

import msgspec

from shipmate.errors import ShipmateError
from shipmate.handlers.chat import BODY_LIMIT, Chat, said
from shipmate.handlers.completion_answer import Answering, Completion, Model, ModelList, completion
from shipmate.handlers.completion_session import Opening, open_session
from shipmate.handlers.errors import HttpError
from shipmate.handlers.fresh import check_agent, check_model, check_project
from shipmate.handlers.reach import check_project_of, session_seen, usable
from shipmate.handlers.respond import json_answer
from shipmate.handlers.route import Answer, Call, Nothing, endpoint
from shipmate.handlers.stream import EventStream
from shipmate.protocol import SessionRow

OWNER = "shipmate"


class Piece(msgspec.Struct, frozen=True):
    type: str
    text: str = ""


class Turn(msgspec.Struct, frozen=True):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Piece] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, str) or self.content is None:
            return self.content or ""
        for piece in self.content:
            if piece.type != "text":
                raise HttpError(422, "invalid", f"Only text can be said here, no {piece.type!r}.")
        return "\n".join(piece.text for piece in self.content)


class Metadata(msgspec.Struct, frozen=True):
    session: str = ""
    """The session to go on with; else the one that the messages belong to."""


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


class Completions(msgspec.Struct, frozen=True, kw_only=True):
    """A request of Chat Completions. Fields that are not here steer a model; an agent has its
    own settings, so they change nothing."""

    model: str
    messages: list[Turn]
    stream: bool = False
    stream_options: StreamOptions | None = None
    metadata: Metadata | None = None
    tools: list[Any] | None = None
    n: int | None = None

    def turns(self) -> list[tuple[str, str]]:
        """Role and text of each; the last is what the user says now."""
        if self.tools:
            raise HttpError(
                422, "invalid", "`tools` cannot be given: an agent has its own, and asks for them."
            )
        if (self.n or 1) != 1:
            raise HttpError(422, "invalid", "`n` can only be 1: an agent works once.")
        turns = [(turn.role, turn.text) for turn in self.messages]
        if not turns or turns[-1][0] != "user" or not turns[-1][1].strip():
            raise HttpError(422, "invalid", "The last of `messages` must be text of the user.")
        return turns


@endpoint("GET", "/v1/models", scope="read", answer=ModelList)
async def agents_as_models(call: Call[Nothing]) -> Answer:
    """The agents as models: `shipmate/<agent>/<project>` for each project that the caller may
    use; with a single one `shipmate/<agent>` will do."""
    agents, projects = call.house.profiles(), usable(call)
    made = int(time.time())
    if len(projects) == 1:
        return ModelList([Model(f"{OWNER}/{agent}", made) for agent in agents])
    return ModelList(
        [Model(f"{OWNER}/{agent}/{key}", made) for key in projects for agent in agents]
    )


@endpoint(
    "POST",
    "/v1/chat/completions",
    scope="run",
    body=Completions,
    answer=Completion,
    stream=True,
    limit=BODY_LIMIT,
)
async def chat_completions(call: Call[Completions]) -> Answer:
    """Say something to an agent. The messages are found again as a session, which goes on; what
    is not known begins a new one, with the earlier messages as context. With `stream` the pieces
    are those of Chat Completions, else one answer comes at the end. Where somebody has to decide,
    a stream tells the link and waits; an answer tells it and ends. A client that leaves stops the
    round."""
    asked = call.given
    turns = asked.turns()
    row, told = await _opened(call, turns)
    chat = _as_chat(call, told)
    frames = await said(chat, row, [one.block() for one in told.attachments])
    wants_usage = bool(asked.stream_options and asked.stream_options.include_usage)
    answering = Answering(call.house, row.id, asked.model, usage=wants_usage, waits=asked.stream)
    if asked.stream:
        chunks = answering.chunks(frames)
        return EventStream(call.house.epoch, chunks, call.house.ended, plain=True)
    return json_answer(await completion(answering, frames))


async def _opened(call: Call[Completions], turns: list[tuple[str, str]]) -> tuple[SessionRow, Chat]:
    """The session and what is said in it."""
    asked = call.given
    if asked.metadata and asked.metadata.session:
        row = await session_seen(call, asked.metadata.session)
        if not call.caller.owns(row):
            raise HttpError(403, "read_only", "This session is shared with you to be read only.")
        check_project_of(call, row)
        return row, Chat(session=row.id, message=turns[-1][1])
    agent, project = _parts(call, asked.model)
    model = check_model(call.house, _model(call, agent))
    opening = Opening(agent, model, project, call.caller.user)
    return await open_session(call.house.executor, opening, asked.model, turns)


def _model(call: Call[Completions], agent: str) -> str:
    house = call.house
    return (
        house.profiles()[agent].model
        or house.config.settings.completions.model
        or house.providers.default()
    )


def _parts(call: Call[Completions], name: str) -> tuple[str, str]:
    """Agent and project of a model's name."""
    head, _, rest = name.partition("/")
    agent, _, project = rest.partition("/")
    if head != OWNER or not agent:
        raise HttpError(
            404,
            "model_not_found",
            f"There is no model {name!r}: it is {OWNER}/<agent>/<project>, see GET /v1/models.",
        )
    try:
        check_agent(call.house.profiles(), agent)
        if project:
            return agent, check_project(call, project)
    except ShipmateError as error:
        raise HttpError(404, "model_not_found", str(error)) from error
    projects = list(usable(call))
    if len(projects) != 1:
        raise HttpError(
            404,
            "model_not_found",
            f"Which project? Name it: {OWNER}/{agent}/<project>. GET /v1/models has them."
            if projects
            else "There is no project yet: add one on the page, or with `shipmate run -p FOLDER`.",
        )
    return agent, check_project(call, projects[0])


def _as_chat(call: Call[Completions], chat: Chat) -> Call[Chat]:
    return Call(call.house, chat, call.path, call.caller, call.headers, call.address)
