"""Keys: what is kept, for how long, and what is never kept."""

import pytest

from shipmate.database import keys as module
from shipmate.database.keys import Keys
from shipmate.errors import NotFoundError, ShipmateError
from tests.handlers.house import OneConnection


async def test_sign_ins_and_tokens_survive_a_restart() -> None:
    writer = OneConnection()
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


async def test_a_sign_in_ends_after_thirty_days(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = OneConnection()
    keys = await Keys.open(writer)
    made = await keys.exchange(keys.invite())
    assert made is not None
    now = module._now()  # pyright: ignore[reportPrivateUsage] - the clock
    monkeypatch.setattr(module, "_now", lambda: now + module.SIGN_IN_MS - 60_000)
    assert keys.signed_in(made.cookie, made.header)
    monkeypatch.setattr(module, "_now", lambda: now + module.SIGN_IN_MS + 1)
    assert not keys.signed_in(made.cookie, made.header)
    await Keys.open(writer)
    assert writer.db.execute("SELECT count(*) FROM sign_ins").fetchone() == (0,)


async def test_no_secret_is_on_disk() -> None:
    writer = OneConnection()
    keys = await Keys.open(writer)
    invitation = keys.invite()
    made = await keys.exchange(invitation)
    assert made is not None
    _, secret = await keys.create_token("ci", ["read"])
    dump = "\n".join(writer.db.iterdump())
    for value in (invitation, made.cookie, made.header, secret):
        assert value not in dump


async def test_a_revoked_token_is_refused_at_once_and_after_a_restart() -> None:
    writer = OneConnection()
    keys = await Keys.open(writer)
    token, secret = await keys.create_token("ci", ["read"])
    await keys.revoke(token.id)
    assert await keys.bearer(secret) is None
    assert await (await Keys.open(writer)).bearer(secret) is None
    with pytest.raises(NotFoundError):
        await keys.revoke(token.id)


async def test_the_last_use_of_a_token_is_kept() -> None:
    writer = OneConnection()
    keys = await Keys.open(writer)
    _, secret = await keys.create_token("ci", ["read"])
    assert keys.tokens()[0].used_at == 0
    await keys.bearer(secret)
    assert (await Keys.open(writer)).tokens()[0].used_at > 0


@pytest.mark.parametrize(("name", "scopes"), [("", ["read"]), ("x", []), ("x", ["root"])])
async def test_a_token_without_name_or_known_scope_is_refused(name: str, scopes: list[str]) -> None:
    keys = await Keys.open(OneConnection())
    with pytest.raises(ShipmateError):
        await keys.create_token(name, scopes)
