"""What of a session's row can be changed; in mid-round the thread tells of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from shipmate.agent.strangers import trust
from shipmate.database.store import Store
from shipmate.errors import ShipmateError
from shipmate.protocol import SessionRow, System

CHANGEABLE = frozenset(
    {
        *("title", "archived", "pinned", "bypass_approval", "provider", "agent"),
        *("untrusted", "readers"),
    }
)
CODE = "changed"
"""Of the notices."""
_NAMES = {"provider": "model", "agent": "agent"}
_RUNNING = (
    "What runs keeps {before}; {after} takes over with the next message, or when the round goes "
    "on after a pause."
)
_WAITING = "{after} takes over when the round goes on."
BYPASS_ON = (
    "The bypass was turned on: from the next call on, files inside the project are written without "
    "asking. What waits for a decision already still waits."
)
BYPASS_OFF = "The bypass was turned off: from the next call on, every change of a file asks again."


def changes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of them; a title is one line."""
    if unknown := set(fields) - CHANGEABLE:
        raise ShipmateError(f"These fields cannot be changed: {', '.join(sorted(unknown))}.")
    if "title" not in fields:
        return dict(fields)
    if not (title := " ".join(fields["title"].split())):
        raise ShipmateError("The title is empty: write one.")
    return {**fields, "title": title}


async def told(store: Store, session: str, fields: Mapping[str, Any]) -> list[System]:
    """The notices of what changes in mid-round: what, and from when it holds. None between
    rounds, where everything holds from the next message on. Trust is always told: the notice is
    what counts (`agent.strangers`)."""
    trusted = [trust(given=not fields["untrusted"])] if "untrusted" in fields else []
    if not set(fields) & {*_NAMES, "bypass_approval"}:
        return trusted
    row = await store.session(session)
    if row.status != "running" and not row.status.startswith("waiting"):
        return trusted
    return [*trusted, *(System(text=text, code=CODE) for text in _texts(row, fields))]


def _texts(row: SessionRow, fields: Mapping[str, Any]) -> Iterator[str]:
    from_when = _RUNNING if row.status == "running" else _WAITING
    for field, name in _NAMES.items():
        before, after = getattr(row, field), fields.get(field, getattr(row, field))
        if after != before:
            rest = from_when.format(before=before, after=after)
            yield f"The {name} was changed to {after}. {rest}"
    bypass = fields.get("bypass_approval", row.bypass_approval)
    if bypass != row.bypass_approval:
        yield BYPASS_ON if bypass else BYPASS_OFF
