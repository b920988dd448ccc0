"""Which session a list of messages belongs to.

A client of Chat Completions sends the whole conversation each time and no name for it. Each
message of the user is kept with a digest of the conversation up to it (`client_id`), and the id
of the session is drawn from how the conversation began. So it is found again, also after a
restart; what was edited or asked anew belongs to no session, and begins one.
"""

import asyncio
import hashlib
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from shipmate.errors import NotFoundError
from shipmate.handlers.chat import Attached, Chat
from shipmate.protocol import SessionRow
from shipmate.session.executor import Executor, new_session_id

Turns = Sequence[tuple[str, str]]
"""Role and text of each message."""

_turns: weakref.WeakKeyDictionary[Executor, asyncio.Lock] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Opening:
    agent: str
    model: str
    project: str
    owner: str


async def open_session(
    executor: Executor, opening: Opening, name: str, turns: Turns
) -> tuple[SessionRow, Chat]:
    """The session that `turns` goes on with, or a new one, and what is said there. One at a
    time: two conversations that begin alike at once are two sessions."""
    async with _turns.setdefault(executor, asyncio.Lock()):
        now, before = digest(turns), digest(_until_last_user(turns[:-1]))
        key = hashlib.sha256(msgspec.json.encode([name, _first(turns)])).hexdigest()[:32]
        number = 0
        while row := await _known(executor, f"v1-{key}-{number}", opening.owner):
            last = (await executor.door.transcript(row.id)).last_user
            if last and last.client_id == before:
                return row, Chat(session=row.id, message=turns[-1][1], client_id=now)
            if last and last.client_id == now and executor.runs(row.id):
                # the client lost the connection, and asks again
                return row, Chat(session=row.id, client_id=now, after=last.seq)
            number += 1
        row = await executor.create(
            agent=opening.agent,
            provider=opening.model,
            project=opening.project,
            client_id=f"v1-{key}-{number}",
            owner=opening.owner,
        )
        earlier = _earlier(turns[:-1])
        said = Chat(session=row.id, message=turns[-1][1], client_id=now, attachments=earlier)
        return row, said


def digest(turns: Turns) -> str:
    """Of what the user has said; what an agent answers is shown with notes around it."""
    told = [text for role, text in turns if role == "user"]
    return "v1-" + hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:40] if told else ""


async def _known(executor: Executor, client_id: str, owner: str) -> SessionRow | None:
    try:
        return await executor.store.session(new_session_id(client_id, owner))
    except NotFoundError:
        return None


def _until_last_user(turns: Turns) -> Turns:
    end = max((n for n, (role, _) in enumerate(turns, 1) if role == "user"), default=0)
    return turns[:end]


def _first(turns: Turns) -> str:
    return next(text for role, text in turns if role == "user")


def _earlier(turns: Turns) -> tuple[Attached, ...]:
    """What a new session is told of the conversation so far."""
    told = "\n\n".join(f"{role}: {text}" for role, text in turns if text.strip())
    return (Attached(name="Conversation so far", text=told),) if told else ()
