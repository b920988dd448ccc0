"""Keys: what is kept, for how long, and what is never kept."""

from pathlib import Path
from typing import Any

import pytest

from shipmate.database import keys as module
from shipmate.database.connection import Connection
from shipmate.database.keys import Keys
from shipmate.database.sql_store import SqlStore
from shipmate.database.sqlite import SqliteStore
from shipmate.errors import NotFoundError, ShipmateError


@pytest.fixture
def writer(any_store: SqlStore) -> SqlStore:
    return any_store


async def test_sign_ins_and_tokens_survive_a_restart(writer: SqlStore) -> None:
    keys = await Keys.open(writer)
    made = await keys.exchange(keys.invite())
    assert made is not None
    token, secret = await keys.create_token(" ci ", ["approve", "read"])
    again = await Keys.open(writer)
    assert again.signed_in(made.cookie, made.header)
    assert again.tokens() == [token]
    found = await again.bearer(secret)
    assert found is not None
    assert (found.name, found.scopes) == ("ci", ("read", "approve"))


async def test_a_sign_in_ends_after_thirty_days(
    writer: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = await Keys.open(writer)
    made = await keys.exchange(keys.invite())
    assert made is not None
    now = module._now()  # pyright: ignore[reportPrivateUsage] - the clock
    monkeypatch.setattr(module, "_now", lambda: now + module.SIGN_IN_MS - 60_000)
    assert keys.signed_in(made.cookie, made.header)
    monkeypatch.setattr(module, "_now", lambda: now + module.SIGN_IN_MS + 1)
    assert not keys.signed_in(made.cookie, made.header)
    await Keys.open(writer)
    count = "SELECT count(*) FROM sign_ins"
    assert await writer.execute(lambda db: db.execute(count).fetchone()) == (0,)


def rows_of(db: Connection, table: str) -> list[Any]:
    return db.execute(f"SELECT * FROM {table}").fetchall()


async def test_no_secret_is_on_disk(writer: SqlStore) -> None:
    keys = await Keys.open(writer)
    invitation = keys.invite()
    made = await keys.exchange(invitation)
    assert made is not None
    _, secret = await keys.create_token("ci", ["read"])
    tables = ("sign_ins", "api_tokens")
    dump = str([await writer.read(lambda db, t=t: rows_of(db, t)) for t in tables])
    for value in (invitation, made.cookie, made.header, secret):
        assert value not in dump


async def test_a_revoked_token_is_refused_at_once_and_after_a_restart(writer: SqlStore) -> None:
    keys = await Keys.open(writer)
    token, secret = await keys.create_token("ci", ["read"])
    await keys.revoke(token.id)
    assert await keys.bearer(secret) is None
    assert await (await Keys.open(writer)).bearer(secret) is None
    with pytest.raises(NotFoundError):
        await keys.revoke(token.id)


async def test_the_last_use_of_a_token_is_kept(writer: SqlStore) -> None:
    keys = await Keys.open(writer)
    _, secret = await keys.create_token("ci", ["read"])
    assert keys.tokens()[0].used_at == 0
    await keys.bearer(secret)
    assert (await Keys.open(writer)).tokens()[0].used_at > 0


@pytest.mark.parametrize(("name", "scopes"), [("", ["read"]), ("x", []), ("x", ["root"])])
async def test_a_token_without_name_or_known_scope_is_refused(
    writer: SqlStore, name: str, scopes: list[str]
) -> None:
    keys = await Keys.open(writer)
    with pytest.raises(ShipmateError):
        await keys.create_token(name, scopes)


async def test_a_lent_token_ends_with_the_process_and_is_not_listed(writer: SqlStore) -> None:
    keys = await Keys.open(writer)
    secret = keys.lend("this machine")
    found = await keys.bearer(secret)
    assert found is not None
    assert "admin" in found.scopes
    assert keys.tokens() == []
    assert await (await Keys.open(writer)).bearer(secret) is None


async def test_a_disk_on_which_nothing_can_be_kept_locks_nobody_out(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "sessions.db")
    keys = await Keys.open(store)
    _, secret = await keys.create_token("ci", ["read"])
    await store.execute(lambda db: db.execute("PRAGMA query_only=ON").fetchall())
    assert await keys.bearer(secret) is not None
    await store.close()
