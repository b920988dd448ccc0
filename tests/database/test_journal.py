"""How the database keeps its journal on a disk, and on a network file system (FM035)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shipmate.database import sqlite_engine
from shipmate.database.journal import file_system_of, journal_on
from shipmate.database.sqlite import SqliteStore
from shipmate.protocol import SessionRow


def test_the_kind_of_a_file_system_is_that_of_the_longest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/vda / ext4 rw 0 0\nsrv:/x /home nfs4 rw 0 0\n//srv/y /mnt/with\\040blank cifs rw\n"
        "tmpfs /home/local tmpfs rw 0 0\noverlay /var overlay rw 0 0\n"
    )
    for folder, kind in {
        "/home/a/data": "nfs4",
        "/mnt/with blank/data": "cifs",
        "/home/local/data": "tmpfs",
        "/homes/data": "ext4",
        "/var/data": "overlay",
    }.items():
        assert file_system_of(Path(folder), mounts) == kind, folder
    assert file_system_of(tmp_path, tmp_path / "none") == ""


def test_a_log_that_needs_shared_memory_is_kept_on_disks_only() -> None:
    for kind in ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "fuse.sshfs", "fuse.s3fs"):
        assert journal_on(kind) == "DELETE", kind
    for kind in ("ext4", "xfs", "btrfs", "apfs", "overlay", "tmpfs", "fuse.gocryptfs", ""):
        assert journal_on(kind) == "WAL", kind


def mode(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA journal_mode").fetchone()[0]


def on_a_network(_folder: Path) -> str:
    return "nfs4"


async def kept(path: Path, title: str) -> list[str]:
    """Add a session; the titles of all, as the next store reads them."""
    for wanted in (title, ""):
        store = await SqliteStore.open(path)
        if wanted:
            row = SessionRow(id=wanted, agent="a", provider="p", project="p", title=wanted)
            await store.create_session(row)
            await store.write(row.id, row={"status": "idle"})
        titles = await store.read(lambda db: db.execute("SELECT id FROM sessions").fetchall())
        await store.close()
    return sorted(title for (title,) in titles)


async def test_a_database_that_moves_between_disk_and_network_keeps_all_and_warns_of_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "sessions.db"
    assert await kept(path, "one") == ["one"]
    assert mode(path) == "wal"
    monkeypatch.setattr(sqlite_engine, "file_system_of", on_a_network)
    assert await kept(path, "two") == ["one", "two"]
    assert mode(path) == "delete"
    left = await SqliteStore.open(path)  # as after a crash: it stays marked as open
    await left.write("one", row={"title": "x"})
    again = await SqliteStore.open(path)
    assert "write-ahead log" not in caplog.text
    await again.close()
    await left.close()
    monkeypatch.undo()
    assert await kept(path, "three") == ["one", "three", "two"]
    assert mode(path) == "wal"
