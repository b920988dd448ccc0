"""A whole server on PostgreSQL, and the commands beside it."""

import json
import signal
import subprocess
from pathlib import Path

from tests.cli.server import command, environment, served
from tests.provider import Provider, text_reply

CHAT = "/api/agent/chat/stream"


def configured(folder: Path, provider: Provider, url: str = "") -> Path:
    (folder / "project").mkdir()
    data = folder / "data"
    data.mkdir()
    (data / "config.toml").write_text(
        (f'[server]\ndatabase = "{url}"\n' if url else "")
        + f'[providers.fake]\ntype = "openai"\nbase_url = "{provider.url}"\n'
        f'models = [{{ id = "m" }}]\n[projects.demo]\npath = "{folder / "project"}"\n'
    )
    return data


def run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, env=environment()
    )


def test_a_conversation_on_postgres_survives_a_kill(
    tmp_path: Path, provider: Provider, postgres: str
) -> None:
    data = configured(tmp_path, provider, postgres)
    provider.queue(text_reply("Hello."), text_reply("A title"))
    with served(data, log=subprocess.DEVNULL) as server:
        told = server.events(CHAT, {"provider": "fake/m", "project": "demo", "task": "Hi."})
        session = told[-1]["session"]
        assert told[-1]["type"] == "done"
        server.end(signal.SIGKILL)
    with served(data, log=subprocess.DEVNULL) as server:
        view = server.api("GET", f"/api/agent/sessions/{session}")
        assert [b["text"] for b in view["blocks"] if b["type"] in ("user", "message")] == [
            "Hi.",
            "Hello.",
        ]
    assert not (data / "sessions.db").exists()
    done = run("export", session, "--data", data)
    assert "Hello." in done.stdout, done.stderr
    refused = run("backup", "--data", data)
    assert refused.returncode == 2
    assert "pg_dump" in refused.stderr
    told_lines = run("doctor", "--json", "--data", data).stdout.split("\n")[:-1]
    found = [json.loads(line) for line in told_lines]
    assert any(f["what"] == "database" and "PostgreSQL" in f["detail"] for f in found)


def test_a_conversation_moves_from_sqlite_to_postgres(
    tmp_path: Path, provider: Provider, postgres: str
) -> None:
    data = configured(tmp_path, provider)
    provider.queue(text_reply("Hello."), text_reply("A title"))
    with served(data, log=subprocess.DEVNULL) as server:
        told = server.events(CHAT, {"provider": "fake/m", "project": "demo", "task": "Hi."})
    config = data / "config.toml"
    words = ("migrate", "--from", "sqlite", "--to", "postgres", "--data", data)
    refused = run(*words)
    assert refused.returncode == 2
    assert "server.database" in refused.stderr
    config.write_text(f'[server]\ndatabase = "{postgres}"\n' + config.read_text())
    moved = run(*words)
    assert moved.returncode == 0, moved.stderr
    assert "Moved and checked: 1 of sessions" in moved.stdout
    assert "Hello." in run("export", told[-1]["session"], "--data", data).stdout
    again = run(*words)
    assert again.returncode == 2
    assert "not empty" in again.stderr


def test_a_database_that_is_not_there_is_told(tmp_path: Path, provider: Provider) -> None:
    data = configured(tmp_path, provider, "postgresql://ada@127.0.0.1:1/ship")
    for words in (("serve", "--port", "0"), ("doctor",)):
        done = run(*words, "--data", data)
        assert done.returncode != 0
        assert "127.0.0.1:1/ship cannot be reached" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_a_password_in_the_configuration_is_refused(tmp_path: Path, provider: Provider) -> None:
    data = configured(tmp_path, provider, "postgresql://ada:hush@127.0.0.1/ship")
    done = run("check", "config", "--data", data)
    assert done.returncode != 0
    assert "PGPASSWORD" in done.stdout + done.stderr
    assert "hush" not in done.stdout + done.stderr
