"""backup, restore and doctor, as a person uses them."""

import asyncio
import json
from pathlib import Path

from tests.cli.server import served, shipmate
from tests.database.aged import filled


def found(data: Path, *options: str) -> dict[str, dict[str, str]]:
    told = shipmate("doctor", "--data", data, "--json", *options)
    lines = [json.loads(line) for line in told.stdout.decode().split("\n") if line]
    return {one["what"]: one for one in lines}


def test_a_backup_beside_a_server_is_restored_when_it_has_ended(tmp_path: Path) -> None:
    data, to = tmp_path / "data", tmp_path / "mine.db"
    data.mkdir()
    asyncio.run(filled(data / "sessions.db", 2, 3))
    with served(data) as server:
        sessions = [s["id"] for s in server.api("GET", "/api/agent/sessions")["sessions"]]
        made = shipmate("backup", "--data", data, "--to", to)
        assert made.returncode == 0, made.stderr
        assert to.exists()
        server.api("DELETE", f"/api/agent/sessions/{sessions[0]}")
        refused = shipmate("restore", to, "--data", data)
        assert refused.returncode == 2
        assert str(server.process.pid) in refused.stderr.decode()
        place = server.api("GET", f"/api/agent/sessions/{sessions[1]}")["epoch"]
        assert server.end() == 0
    done = shipmate("restore", to, "--data", data)
    assert done.returncode == 0, done.stderr
    assert b"2 sessions with 6 blocks" in done.stdout
    with served(data) as server:
        listed = server.api("GET", "/api/agent/sessions")["sessions"]
        assert {s["id"] for s in listed} == set(sessions)
        assert server.api("GET", f"/api/agent/sessions/{sessions[1]}")["epoch"] != place


def test_a_damaged_database_is_told_by_server_and_doctor_and_saved(tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    asyncio.run(filled(file, 20, 50))
    assert found(tmp_path)["backup"]["state"] == "note"
    assert shipmate("backup", "--data", tmp_path).returncode == 0
    assert "0 hours old" in found(tmp_path)["backup"]["detail"]
    raw = bytearray(file.read_bytes())
    page = (
        raw.rindex(b"a a a a") // 4096 * 4096
    )  # of blocks: the table of tables has no second copy
    raw[page : page + 200] = bytes(200)
    file.write_bytes(raw)
    for options in ((), ("--integrity",)):
        assert found(tmp_path, *options)["database"]["state"] == "bad"
    serving = shipmate("serve", "--data", tmp_path, "--port", "0")
    assert serving.returncode == 1
    said = serving.stderr.decode()
    assert "is damaged" in said
    assert "shipmate restore" in said
    assert "Traceback" not in said
    saved = shipmate("restore", "--salvage", "--data", tmp_path)
    assert saved.returncode == 0, saved.stderr
    assert found(tmp_path, "--integrity")["database"]["state"] == "ok"


def test_restore_needs_to_be_told_what(tmp_path: Path) -> None:
    for arguments in ((), (str(tmp_path / "x.db"), "--salvage")):
        told = shipmate("restore", *arguments, "--data", tmp_path)
        assert told.returncode == 2
        assert b"--salvage" in told.stderr
    assert shipmate("restore", "--salvage", "--data", tmp_path).returncode == 2
