"""What every store does: the same tests on all of them."""

import asyncio

import pytest
from msgspec import UNSET, structs

from shipmate.database import rows
from shipmate.database.sql_store import SqlStore
from shipmate.database.store import SessionFilter
from shipmate.errors import ConflictError, NotFoundError
from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    Attachment,
    CommandDetail,
    ContextUsage,
    ImageDetail,
    Message,
    SessionRow,
    System,
    Todo,
    TodoItem,
    ToolResult,
    User,
    decode_block,
    new_id,
)


@pytest.fixture
def store(any_store: SqlStore) -> SqlStore:
    return any_store


def fresh(title: str = "") -> SessionRow:
    return SessionRow(
        id=new_id(), agent="assistant", provider="scripted/demo", project="demo", title=title
    )


def approval() -> ApprovalRequest:
    details = CommandDetail(command="ls", cwd="/p")
    return ApprovalRequest(id="c1-approval", call="c1", title="ls", details=details, digest="d")


async def test_blocks_are_numbered_in_the_order_they_were_written(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    written = await store.write(session, [User(text="hi"), Message(text="hello", tokens=3)])
    assert [(s.block.pos, s.block.seq) for s in written.saved] == [(1, 1), (2, 2)]
    assert written.row.last_seq == 2
    assert [decode_block(s.json) for s in written.saved] == await store.history(session)


async def test_a_changed_block_keeps_its_place_and_takes_a_new_number(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    await store.write(session, [Todo(id="todo"), User(text="hi")])
    items = (TodoItem(id=1, title="one"),)
    written = await store.write(session, [Todo(id="todo", items=items)])
    assert (written.saved[0].block.pos, written.saved[0].block.seq) == (1, 3)
    assert (await store.history(session))[0].id == "todo"
    changed = await store.changes(session, after=2)
    assert [(k.pos, k.seq, k.type) for k in changed] == [(1, 3, "todo")]


async def test_the_first_decision_wins(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    await store.write(session, [approval()])

    def decide(result: bool):
        def revise(block: AnyBlock) -> AnyBlock:
            assert isinstance(block, ApprovalRequest)
            if block.result is not UNSET:
                raise ConflictError("decided before")
            return structs.replace(block, result=result)

        return revise

    outcomes = await asyncio.gather(
        *(store.change(session, "c1-approval", decide(i % 2 == 0)) for i in range(6)),
        return_exceptions=True,
    )
    assert sum(isinstance(o, ConflictError) for o in outcomes) == 5
    kept = await store.block(session, "c1-approval")
    assert isinstance(kept, ApprovalRequest)
    assert kept.result is True


async def test_a_failed_change_leaves_the_rest_of_its_batch(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    outcomes = await asyncio.gather(
        store.write(session, [User(text="one")]),
        store.write("gone", [User(text="two")]),
        store.write(session, [User(text="three")]),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], NotFoundError)
    texts = [b.text for b in await store.history(session) if isinstance(b, User)]
    assert texts == ["one", "three"]


async def test_writes_to_a_deleted_session_are_refused(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    await store.write(session, [User(text="hi")])
    await store.delete_session(session)
    with pytest.raises(NotFoundError):
        await store.write(session, [Message(text="late")])
    with pytest.raises(NotFoundError):
        await store.session(session)
    assert await store.history(session) == []


async def test_a_deleted_session_names_the_files_that_it_alone_showed(store: SqlStore) -> None:
    one, other = [(await store.create_session(fresh())).id for _ in range(2)]

    def shows(file: str) -> ToolResult:
        details = ImageDetail(media_type="image/png", file=file)
        return ToolResult(call="c", text=f'not "file":"text{file}"', details=details)

    await store.write(
        one, [shows("own"), shows("shared"), Attachment(kind="image", name="n", file="a")]
    )
    await store.write(other, [shows("shared")])
    assert await store.delete_session(one) == {"own", "a"}
    assert await store.delete_session(other) == {"shared"}
    with pytest.raises(NotFoundError):
        await store.delete_session(one)


async def test_a_window_is_read_from_the_end(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    await store.write(session, [User(text=str(n)) for n in range(10)])
    assert [k.pos for k in await store.window(session, limit=3)] == [8, 9, 10]
    assert [k.pos for k in await store.window(session, before=8, limit=3)] == [5, 6, 7]


async def test_text_in_the_making_survives_until_its_message_is_kept(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    store.append_text(session, "m1", "Hel", "")
    store.append_text(session, "m1", "lo", "thinking")
    await store.write(session, [User(text="later")])
    live = await store.live_texts()
    assert [(t.session, t.id, t.text, t.reasoning) for t in live] == [
        (session, "m1", "Hello", "thinking")
    ]
    await store.write(session, [Message(id="m1", text="Hello")])
    assert await store.live_texts() == []


async def test_text_that_is_streamed_anew_is_forgotten(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    store.append_text(session, "m1", "void", "")
    store.drop_text(session, "m1")
    store.append_text(session, "m1", "real", "")
    await store.write(session, [User(text="later")])
    assert [t.text for t in await store.live_texts()] == ["real"]


async def test_the_row_keeps_usage_and_adds_tokens_up(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    usage = ContextUsage(tokens=500, max=1000, percent=0, source="api")
    await store.write(session, row={"add_tokens": 500, "context_usage": usage})
    row = (await store.write(session, row={"add_tokens": 500, "title": "T"})).row
    assert (row.tokens, row.title) == (1000, "T")
    assert row.context_usage == structs.replace(usage, percent=50.0)


async def test_sessions_are_listed_newest_first_and_filtered(store: SqlStore) -> None:
    rows = [await store.create_session(fresh(title=str(n))) for n in range(3)]
    await store.write(rows[0].id, row={"archived": True})
    await store.write(rows[1].id, row={"status": "running"})
    listed = await store.sessions(SessionFilter())
    assert {r.id for r in listed} == {rows[1].id, rows[2].id}
    assert [r.id for r in await store.sessions(SessionFilter(status="running"))] == [rows[1].id]
    assert [r.id for r in await store.sessions(SessionFilter(archived=True))] == [rows[0].id]
    first = await store.sessions(SessionFilter(archived=None, limit=2))
    cursor = (first[-1].updated_at, first[-1].id)
    rest = await store.sessions(SessionFilter(archived=None, before=cursor))
    assert len({r.id for r in first + rest}) == 3


async def test_what_utf8_cannot_carry_is_kept_as_a_replacement_character(
    store: SqlStore,
) -> None:
    session = (await store.create_session(fresh())).id
    text = "a lone \ud800 surrogate"
    await store.write(session, [System(text=text)], row={"error": text})
    [kept] = await store.history(session)
    assert isinstance(kept, System)
    assert kept.text == (await store.session(session)).error == "a lone \ufffd surrogate"


async def test_a_clock_that_jumps_changes_no_order(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FM039"""
    session = (await store.create_session(fresh())).id
    day = 86_400_000
    for number, at in enumerate((100 * day, 99 * day, 465 * day, 100 * day)):
        monkeypatch.setattr(rows, "now", lambda at=at: at)
        await store.write(session, [User(text=str(number))])
    said = [block for block in await store.history(session) if isinstance(block, User)]
    assert [user.text for user in said] == ["0", "1", "2", "3"]
    assert [kept.seq for kept in await store.changes(session, 0)] == [1, 2, 3, 4]


async def test_a_view_shows_the_row_and_the_blocks_of_one_moment(store: SqlStore) -> None:
    session = (await store.create_session(fresh())).id
    await store.write(session, [Message(text="before", tokens=1)])
    ended = False

    async def rounds() -> None:
        nonlocal ended
        for number in range(300):
            await store.write(session, [User(text=f"{number}")], row={"status": "running"})
            asked = structs.replace(approval(), id=f"{number}-approval")
            waits = {"status": "waiting_approval", "pending_approval": asked.id}
            await store.write(session, [asked], row=waits)
            decided = structs.replace(asked, result=True)
            done = [decided, Message(text="Done.", tokens=1)]
            await store.write(session, done, row={"status": "idle", "pending_approval": ""})
        ended = True

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(rounds())
        while not ended:
            view = await store.view(session, limit=10)
            last = view.blocks[-1]
            kinds = {"idle": "message", "running": "user", "waiting_approval": "approval_request"}
            assert last.type == kinds[view.row.status]
            assert max(kept.seq for kept in view.blocks) == view.row.last_seq
            assert [block.id for block in view.pending] == [
                *filter(None, [view.row.pending_approval])
            ]


async def test_sessions_are_counted_by_project_and_state(store: SqlStore) -> None:
    made = [(await store.create_session(fresh())).id for _ in range(3)]
    await store.write(made[0], row={"status": "running", "owner": "ada"})
    await store.write(made[1], row={"archived": True})
    counted = [(one.project, one.status, one.sessions) for one in await store.states()]
    assert counted == [("demo", "idle", 1), ("demo", "running", 1)]
    hers = await store.states(owner="ada", seen_by="ada")
    assert [(one.project, one.status, one.sessions) for one in hers] == [("demo", "running", 1)]
