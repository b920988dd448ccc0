"""What was used: a row for each session, day and model. It stays when a session is deleted."""

import time
from collections import Counter
from collections.abc import Mapping

import msgspec

from shipmate.database.connection import Connection
from shipmate.llm.prices import Costs, Spent, Sum
from shipmate.protocol import BUDGET, CONTINUE, AskUser, decode_block

_ADD = """
INSERT INTO usage (session, day, model, requests, prompt, cached, completion, cost, owner)
VALUES (?, ?, ?, 1, ?, ?, ?, ?, coalesce((SELECT owner FROM sessions WHERE id = ?), ''))
ON CONFLICT (session, day, model) DO UPDATE SET
    requests = usage.requests + 1, prompt = usage.prompt + excluded.prompt,
    cached = usage.cached + excluded.cached,
    completion = usage.completion + excluded.completion, cost = usage.cost + excluded.cost
"""


class UsageRow(msgspec.Struct, frozen=True):
    session: str
    day: str
    """By the server's clock: `2026-11-30`."""
    model: str
    """`provider/model`."""
    requests: int
    prompt: int
    """Tokens, the cached ones among them."""
    cached: int
    completion: int
    cost: float
    """In whatever currency the provider bills; 0 where the price is not known."""


def today() -> str:
    """The day by the server's clock: `2026-11-30`."""
    return time.strftime("%Y-%m-%d")


def days_ago(days: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(time.time() - 86_400 * days))


def add(db: Connection, session: str, spent: Spent) -> None:
    counts = (spent.prompt, spent.cached, spent.completion, spent.cost)
    db.execute(_ADD, (session, today(), spent.model, *counts, session))


def listed(db: Connection, session: str, since: str, owner: str | None = None) -> list[UsageRow]:
    """From the day `since` on, the newest day first; of one session, or of all (empty), or of
    those of one `owner`."""
    query = (
        "SELECT session, day, model, requests, prompt, cached, completion, cost FROM usage "
        "WHERE day >= ? AND (? = '' OR session = ?) AND owner = coalesce(?, owner) "
        "ORDER BY day DESC, cost DESC, session, model"
    )
    return [UsageRow(*row) for row in db.execute(query, (since, session, session, owner))]


def costs(db: Connection, session: str) -> Costs:
    """What a session has taken in all, and what all sessions have taken today."""
    day = today()
    return Costs(_sum(db, "session", session), _sum(db, "day", day), day, _raised(db, day))


def _sum(db: Connection, column: str, value: str) -> Sum:
    sums = "coalesce(sum(prompt + completion), 0), coalesce(sum(cost), 0.0)"
    query = f"SELECT {sums} FROM usage WHERE {column} = ?"  # noqa: S608 - fixed names
    tokens, cost = db.execute(query, (value,)).fetchone()
    return Sum(int(tokens), cost)


def _raised(db: Connection, day: str) -> Mapping[str, int]:
    """How many questions about the limits of a day raised one, in all sessions, by kind."""
    query = "SELECT id, body FROM blocks WHERE type = 'ask_user' AND id LIKE ?"
    found = Counter[str]()
    for name, body in db.execute(query, (f"{BUDGET}-%day-{day}-%",)):
        block = decode_block(body)
        if isinstance(block, AskUser) and block.result == CONTINUE:
            found[name.removeprefix(f"{BUDGET}-").rpartition("-")[0]] += 1
    return found
