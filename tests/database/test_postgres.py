"""What is PostgreSQL's own: its schema, its errors, and what is moved to it."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from shipmate.database.connection import Connection
from shipmate.database.integrity import DamagedError
from shipmate.database.keys import Keys
from shipmate.database.moving import move
from shipmate.database.postgres import PostgresStore, condition
from shipmate.database.sqlite import SqliteStore
from shipmate.database.users import Users
from shipmate.errors import ConflictError, StorageError
from shipmate.protocol import Message, Queued, SessionRow, User, new_id
from shipmate.safety.rules.rule import Rule
from tests.postgres import schema


def fresh() -> SessionRow:
    return SessionRow(id=new_id(), agent="assistant", provider="scripted/demo", project="demo")


def sqlite_columns(db: Connection) -> dict[str, list[str]]:
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = [name for (name,) in db.execute(tables) if not name.startswith("search_")]
    return {t: [c[1] for c in db.execute(f"PRAGMA table_info({t})")] for t in names}


def postgres_columns(db: Connection) -> dict[str, list[str]]:
    query = (
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND is_generated = 'NEVER' "
        "AND column_name <> 'rowid' ORDER BY table_name, ordinal_position"
    )
    found: dict[str, list[str]] = {}
    for table, column in db.execute(query):
        found.setdefault(table, []).append(column)
    return found


async def test_both_engines_have_the_same_tables_and_columns(tmp_path: Path, postgres: str) -> None:
    lite = await SqliteStore.open(tmp_path / "sessions.db")
    post = await PostgresStore.open(postgres)
    expected = await lite.read(sqlite_columns)
    found = await post.read(postgres_columns)
    assert {t: set(c) for t, c in found.items()} == {t: set(c) for t, c in expected.items()}
    await lite.close()
    await post.close()


async def test_what_was_written_is_there_after_opening_again(postgres: str) -> None:
    store = await PostgresStore.open(postgres)
    session = (await store.create_session(fresh())).id
    await store.write(session, [User(text="hi\0 there")], row={"title": "a \0 title"})
    epoch = store.epoch
    await store.close()
    again = await PostgresStore.open(postgres)
    assert again.epoch == epoch
    [said] = await again.history(session)
    assert isinstance(said, User)
    assert said.text == "hi\0 there"
    assert (await again.session(session)).title == "a \ufffd title"
    await again.close()


async def test_two_servers_that_start_at_once_make_one_schema(postgres: str) -> None:
    stores = await asyncio.gather(*(PostgresStore.open(postgres) for _ in range(4)))
    assert len({store.epoch for store in stores}) == 1
    session = (await stores[0].create_session(fresh())).id
    await asyncio.gather(*(s.write(session, [User(text="x")]) for s in stores for _ in range(20)))
    kept = await stores[1].changes(session, 0)
    assert [one.seq for one in kept] == list(range(1, 81))
    for store in stores:
        await store.close()


async def test_one_decision_wins_whichever_server_it_reaches(postgres: str) -> None:
    stores = await asyncio.gather(*(PostgresStore.open(postgres) for _ in range(3)))
    session = (await stores[0].create_session(fresh())).id
    await stores[0].write(session, [Message(id="m", text="undecided")])

    def decide(mine: str):
        def revise(block: object) -> Message:
            assert isinstance(block, Message)
            if block.text != "undecided":
                raise ConflictError("decided before")
            return Message(id="m", text=mine)

        return revise

    outcomes = await asyncio.gather(
        *(s.change(session, "m", decide(f"by {n}")) for n, s in enumerate(stores * 5)),
        return_exceptions=True,
    )
    assert sum(not isinstance(outcome, Exception) for outcome in outcomes) == 1
    for store in stores:
        await store.close()


def cut_all(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'shipmate' AND pid <> pg_backend_pid()"
        )


async def test_connections_that_are_cut_between_two_requests_are_not_noticed(
    postgres_server: str,
) -> None:
    with schema(postgres_server) as url:
        store = await PostgresStore.open(url)
        session = (await store.create_session(fresh())).id
        for number in range(5):
            await asyncio.gather(*(store.history(session) for _ in range(4)))
            cut_all(url)
            await store.write(session, [User(text=f"{number}")])
            said = [b.text for b in await store.history(session) if isinstance(b, User)]
            assert said == [f"{n}" for n in range(number + 1)]
        await store.close()


async def test_a_connection_that_is_cut_in_a_transaction_keeps_nothing_of_it(postgres: str) -> None:
    store = await PostgresStore.open(postgres)
    session = (await store.create_session(fresh())).id
    await store.write(session, [Message(id="m", text="before")])

    def revise(_block: object) -> Message:
        cut_all(postgres)
        return Message(id="m", text="after")

    with pytest.raises(StorageError, match="cannot be reached"):
        await store.change(session, "m", revise)
    kept = await store.block(session, "m")
    assert isinstance(kept, Message)
    assert kept.text == "before"
    await store.close()


def quiet(_table: str, _done: int) -> None:
    pass


async def test_what_is_not_there_is_told_without_a_password(postgres: str) -> None:
    with pytest.raises(StorageError, match=r"127\.0\.0\.1:1/none cannot be reached") as told:
        await PostgresStore.open("postgresql://ada:secret@127.0.0.1:1/none")
    assert "secret" not in str(told.value)
    store = await PostgresStore.open(postgres)
    await store.execute(
        lambda db: db.execute("UPDATE meta SET value = '99' WHERE key = 'version'").rowcount
    )
    await store.close()
    with pytest.raises(StorageError, match="version 99"):
        await PostgresStore.open(postgres)


async def test_a_row_that_is_not_as_it_was_written_is_found(postgres: str) -> None:
    store = await PostgresStore.open(postgres)
    session = (await store.create_session(fresh())).id
    await store.write(session, [User(text="mine")])
    assert "every row is whole" in condition(postgres, full=True)
    await store.execute(lambda db: db.execute("UPDATE sessions SET title = 'x'").rowcount)
    with pytest.raises(DamagedError, match=session):
        condition(postgres, full=True)
    await store.close()


async def test_everything_is_moved_and_goes_on(tmp_path: Path, postgres: str) -> None:
    file = tmp_path / "sessions.db"
    lite = await SqliteStore.open(file)
    sessions = [(await lite.create_session(fresh())).id for _ in range(30)]
    for session in sessions:
        await lite.write(session, [User(text=f"ünï {n} \0") for n in range(90)])
    lite.append_text(sessions[0], "m1", "half a sen", "")
    await lite.change_queue(sessions[0], lambda _: [Queued(id="q1", text="later")])
    await lite.add_rule(Rule(id="r1", effect="allow", text="shell:npm test", scope="everywhere"))
    await (await Users.open(lite)).add("ada", "admin", "hash")
    _, secret = await (await Keys.open(lite)).create_token("ci", ["read"])
    before = [(await lite.session(s), await lite.changes(s, 0)) for s in sessions]
    epoch = lite.epoch
    await lite.close()

    told: list[tuple[str, int]] = []
    await (await PostgresStore.open(postgres)).close()
    counts = move(file, postgres, lambda table, done: told.append((table, done)))
    assert counts["blocks"] == 2700
    assert ("blocks", 1000) in told
    store = await PostgresStore.open(postgres)
    assert store.epoch == epoch
    assert [(await store.session(s), await store.changes(s, 0)) for s in sessions] == before
    assert [one.text for one in await store.live_texts()] == ["half a sen"]
    store.append_text(sessions[0], "m1", "tence", "")
    assert [one.text for one in await store.queue(sessions[0])] == ["later"]
    assert [rule.text for rule in await store.rules()] == ["shell:npm test"]
    assert (await Users.open(store)).get("ada").role == "admin"
    assert await (await Keys.open(store)).bearer(secret)
    await store.write(sessions[0], [User(text="and on")])
    assert [one.text for one in await store.live_texts()] == ["half a sentence"]
    with pytest.raises(ConflictError, match="not empty"):
        move(file, postgres, quiet)
    await store.close()


async def test_a_move_that_fails_leaves_an_empty_database(
    tmp_path: Path, postgres_server: str
) -> None:
    file = tmp_path / "sessions.db"
    lite = await SqliteStore.open(file)
    session = (await lite.create_session(fresh())).id
    await lite.write(session, [User(text="x")])
    await lite.close()
    with schema(postgres_server) as url:
        await (await PostgresStore.open(url)).close()
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("ALTER TABLE usage ADD CONSTRAINT no CHECK (false)")
            db.execute("ALTER TABLE blocks ADD CONSTRAINT no CHECK (seq < 1)")
        with pytest.raises(StorageError, match="violates"):
            move(file, url, quiet)
        with psycopg.connect(url) as db:
            assert db.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
