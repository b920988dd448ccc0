"""Copies of the database, and putting one back."""

import asyncio
import os
import sqlite3
import time
from pathlib import Path

import pytest

from shipmate.database.backups import KEPT, back_up, backups, daily_is_due, last_good
from shipmate.database.daily import keep_daily
from shipmate.database.integrity import damage
from shipmate.database.keys import Keys
from shipmate.database.restoring import rescue, restore
from shipmate.database.sqlite import SqliteStore
from shipmate.database.store import SessionFilter
from shipmate.errors import ShipmateError, StorageError
from shipmate.protocol import User
from tests.database.aged import content, filled, of_version_1, row


async def test_a_backup_of_a_database_in_use_is_whole_and_writers_go_on(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = await SqliteStore.open(path)
    session = (await store.create_session(row())).id
    await store.write(session, [User(text="before " * 2000) for _ in range(50)])
    copying = asyncio.ensure_future(asyncio.to_thread(back_up, path, "manual"))
    written = 0
    while not copying.done() or not written:
        await store.write(session, [User(text="meanwhile")], durable=False)
        written += 1
    copied = await copying
    assert damage(copied, full=True) == ""
    assert 50 <= len(content(copied)["blocks"]) <= 50 + written
    assert len(await store.history(session)) == 50 + written
    assert copied.stat().st_mode & 0o077 == 0
    assert [file.name for file in copied.parent.iterdir()] == [copied.name]
    await store.close()


async def test_a_backup_of_what_a_dead_server_left_changes_nothing_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, place = tmp_path / "sessions.db", tmp_path / "dead"
    place.mkdir()
    store = await SqliteStore.open(path)
    session = (await store.create_session(row())).id
    await store.write(session, [User(text="hello")])
    for file in tmp_path.glob("sessions.db*"):  # as a kill leaves them
        (place / file.name).write_bytes(file.read_bytes())
    await store.close()
    copied = back_up(place / "sessions.db", "manual")
    assert len(content(copied)["blocks"]) == 1
    again = await SqliteStore.open(place / "sessions.db")
    assert len(await again.history(session)) == 1
    assert caplog.text == "", "no log is missed"
    await again.close()


async def test_a_copy_that_is_not_whole_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path)
    raw = bytearray(path.read_bytes())
    raw[8192 : 8192 + 64] = b"\xff" * 64  # the head of a page
    path.write_bytes(raw)
    with pytest.raises(StorageError, match=r"not whole|damaged"):
        back_up(path, "daily")
    assert list((tmp_path / "backups").iterdir()) == []


async def test_changed_content_pushes_no_good_copy_out(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path)
    good = back_up(path, "daily")
    raw = bytearray(path.read_bytes())
    raw[raw.rfind(b"a a a a")] ^= 1
    path.write_bytes(raw)
    await (await SqliteStore.open(path)).close()  # its structure is whole
    with pytest.raises(StorageError, match="has changed"):
        back_up(path, "daily")
    assert [one.file for one in backups(path)] == [good]


async def test_seven_daily_copies_are_kept_and_those_made_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path, 1, 1)
    by_hand = back_up(path, "manual")
    made: list[Path] = []
    for day in range(KEPT + 3):
        made.append(back_up(path, "daily"))
        os.utime(made[-1], (day, day))
    made.append(back_up(path, "daily"))
    left = {one.file for one in backups(path)}
    assert left == {by_hand, *made[-KEPT:]}


async def test_what_a_killed_backup_left_goes_after_a_day(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path, 1, 1)
    made = back_up(path, "manual")
    old, new, ours = (made.with_name(n) for n in ("a.db.7.part", "b.db.7.part-wal", "mine.txt"))
    for file in (old, new, ours):
        file.write_text("part")
    for file in (old, ours, made):
        os.utime(file, (1, 1))
    again = back_up(path, "manual")
    assert set(made.parent.iterdir()) == {made, again, new, ours}


async def test_a_daily_copy_is_due_after_a_day_and_when_the_clock_was_changed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sessions.db"
    await filled(path, 1, 1)
    assert daily_is_due(path)
    back_up(path, "manual")
    assert daily_is_due(path)
    copy = back_up(path, "daily")
    assert not daily_is_due(path)
    for change in (-25 * 3600, 365 * 24 * 3600):
        os.utime(copy, (time.time() + change, time.time() + change))
        assert daily_is_due(path)


async def test_a_backup_to_a_file_overwrites_nothing(tmp_path: Path) -> None:
    path, to = tmp_path / "sessions.db", tmp_path / "mine.db"
    await filled(path, 1, 1)
    assert back_up(path, "manual", to) == to
    with pytest.raises(ShipmateError, match="there already"):
        back_up(path, "manual", to)
    with pytest.raises(ShipmateError, match=r"no database"):
        back_up(tmp_path / "none.db", "manual", tmp_path / "x.db")


async def test_a_database_of_an_earlier_version_is_copied_before_it_is_changed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sessions.db"
    of_version_1(path)
    store = await SqliteStore.open(path)
    history = await store.history("old")
    await store.close()
    assert [b.text for b in history if isinstance(b, User)] == ["hi"]
    (copy,) = backups(path)
    assert copy.kind == "migration"
    with sqlite3.connect(copy.file) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()
    assert damage(path, full=True) == ""
    await (await SqliteStore.open(path)).close()
    assert len(backups(path)) == 1


async def test_restoring_brings_content_back_and_gives_a_new_numbering(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    (session,) = await filled(path, 1)
    before, copy = content(path), back_up(path, "manual")
    store = await SqliteStore.open(path)
    epoch = store.epoch
    await store.delete_session(session)
    await store.create_session(row("later"))
    await store.close()
    restored = restore(path, copy)
    assert (restored.sessions, restored.blocks) == (1, 40)
    assert content(path) == before
    assert restored.kept is not None
    assert [r[4] for r in content(restored.kept)["sessions"]] == ["later"]
    assert restored.kept not in {one.file for one in backups(path)}
    store = await SqliteStore.open(path)
    assert store.epoch != epoch
    await store.close()
    assert copy.exists()


async def test_who_may_call_is_not_restored(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = await SqliteStore.open(path)
    keys = await Keys.open(store)
    revoked, secret = await keys.create_token("revoked", ["read"])
    copy = back_up(path, "manual")
    await keys.revoke(revoked.id)
    _, valid = await keys.create_token("valid", ["read"])
    await store.close()
    restore(path, copy)
    store = await SqliteStore.open(path)
    keys = await Keys.open(store)
    assert await keys.bearer(secret) is None
    assert await keys.bearer(valid) is not None
    await store.close()


async def test_what_is_damaged_foreign_or_newer_is_not_restored(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path, 1)
    before = path.read_bytes()
    damaged = tmp_path / "damaged.db"
    raw = bytearray(before)
    raw[raw.rfind(b'"text":"a a a a') + 10] ^= 1
    damaged.write_bytes(raw)
    (tmp_path / "text.db").write_text("not a database " * 1000)
    with sqlite3.connect(tmp_path / "foreign.db") as db:
        db.execute("CREATE TABLE other (x)")
    db.close()
    newer = tmp_path / "newer.db"
    newer.write_bytes(before)
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    for name, why in {
        "damaged.db": "content of .* has changed",
        "text.db": "not a database",
        "foreign.db": "no database of shipmate",
        "newer.db": "version 99",
        "none.db": "no file",
    }.items():
        with pytest.raises(ShipmateError, match=why):
            restore(path, tmp_path / name)
    assert path.read_bytes() == before
    assert not (tmp_path / "sessions.db.new").exists()


async def test_what_can_be_read_of_a_damaged_database_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path, 20, 100)
    before = content(path)
    raw = bytearray(path.read_bytes())
    for page in range(20, len(raw) // 4096, 25):
        raw[page * 4096 : page * 4096 + 512] = b"\x55" * 512
    path.write_bytes(raw)
    assert damage(path)
    with pytest.raises(StorageError, match="restore --salvage"):
        await SqliteStore.open(path)
    restored, salvaged = rescue(path)
    assert damage(path, full=True) == ""
    assert restored.kept is not None
    assert restored.kept.read_bytes() == bytes(raw)
    assert len(before["blocks"]) * 0.8 < restored.blocks < len(before["blocks"])
    assert salvaged.altered == 0
    bodies = {block[5] for block in before["blocks"]}
    assert {block[5] for block in content(path)["blocks"]} <= bodies
    store = await SqliteStore.open(path)
    for found in await store.sessions(SessionFilter(limit=100)):
        await store.write(found.id, [User(text="goes on")])
    await store.close()


async def test_blocks_whose_session_is_lost_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    (session,) = await filled(path, 1)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM sessions")
    db.close()
    _, salvaged = rescue(path)
    assert salvaged.rows["blocks"] == 40
    store = await SqliteStore.open(path)
    assert (await store.session(session)).title == "Salvaged"
    assert (await store.write(session, [User(text="on")])).row.last_seq == 41
    await store.close()


async def test_the_newest_whole_copy_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path, 1, 1)
    good, bad = back_up(path, "manual"), back_up(path, "daily")
    os.utime(good, (1, 1))
    bad.write_bytes(b"no")
    found = last_good(path)
    assert found is not None
    assert found.file == good
    path.write_bytes(b"SQLite format 3\0" + b"\1" * 8192)
    with pytest.raises(StorageError) as told:
        await SqliteStore.open(path)
    assert f"shipmate restore {good}" in str(told.value)


async def test_a_server_makes_one_copy_a_day_and_tells_once_that_it_cannot(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "sessions.db"
    await filled(path, 1, 1)
    (tmp_path / "backups").write_text("in the way")
    task = asyncio.ensure_future(keep_daily(path, 0))
    while "failed" not in caplog.text:
        await asyncio.sleep(0)
    (tmp_path / "backups").unlink()
    while not backups(path):
        await asyncio.sleep(0)
    (made,) = backups(path)
    os.utime(made.file, (1, 1))
    while len(backups(path)) < 2:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert [one.kind for one in backups(path)] == ["daily", "daily"]
    assert caplog.text.count("failed") == 1
