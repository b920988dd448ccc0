"""`shipmate serve`, as a process."""

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.server import command, environment, served, shipmate


def test_the_printed_link_signs_a_browser_in(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        token = urlsplit(server.token_url).fragment.removeprefix("token=")
        status, headers, body = server.request("POST", "/api/auth/exchange", {"token": token})
        assert status == 200
        cookie = headers["set-cookie"].partition(";")[0]
        halves = {"Cookie": cookie, "X-Shipmate-Token": json.loads(body)["token"]}
        assert server.request("GET", "/api/auth/me", None, **halves)[0] == 200
        assert server.request("GET", "/api/auth/me")[0] == 401
        assert server.request("GET", "/healthz")[2] == b"ok\n"
        assert server.request("GET", "/")[1]["content-type"].startswith("text/html")


def test_a_sign_in_survives_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        token = urlsplit(server.token_url).fragment.removeprefix("token=")
        _, headers, body = server.request("POST", "/api/auth/exchange", {"token": token})
        port = urlsplit(server.url).port
        assert server.end() == 0
    halves = {
        "Cookie": headers["set-cookie"].partition(";")[0],
        "X-Shipmate-Token": json.loads(body)["token"],
    }
    with served(tmp_path, "--port", str(port)) as server:
        assert server.request("GET", "/api/auth/me", None, **halves)[0] == 200


def test_what_it_leaves_in_the_directory_is_private_and_goes_with_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with served(data) as server:
        file = data / "server.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert server.end() == 0
        assert not file.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order_with_streams_open(tmp_path: Path, number: int) -> None:
    with served(tmp_path) as server:
        place = urlsplit(server.url)
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=20)
        headers = {"Authorization": f"Bearer {server.token}"}
        connection.request("GET", "/api/agent/events?rows=true", headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200
        assert server.end(number) == 0
        answer.read()  # ends, and is not cut off
        connection.close()


def test_a_directory_has_one_server(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        second = shipmate("serve", "--data", tmp_path, "--port", "0")
        assert second.returncode == 2
        assert str(server.process.pid) in second.stderr.decode()
        assert b"Traceback" not in second.stderr


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = shipmate("serve", "--data", tmp_path, "--port", port)
    assert done.returncode == 2
    assert port in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org", "127.1"])
def test_other_addresses_than_loopback_are_refused(tmp_path: Path, host: str) -> None:
    done = shipmate("serve", "--data", tmp_path, "--port", "0", "--host", host)
    assert done.returncode == 2
    assert host in done.stderr.decode()


def test_a_broken_configuration_is_said_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[server]\nprot = 1\n[limits]\ncompact_at = "x"\n')
    done = shipmate("serve", "--data", tmp_path, "--port", "0")
    said = done.stderr.decode()
    assert done.returncode == 2
    assert "[server] prot" in said
    assert "[limits] compact_at" in said
    assert "Traceback" not in said


def test_without_json_it_prints_the_link_for_a_person(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("serve", "--data", tmp_path, "--port", "0"),
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    first, second = process.stdout.readline(), process.stdout.readline()
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(20) == 0
    process.stdout.close()
    assert b"sign in" in first
    assert second.startswith(b"http://127.0.0.1:")
    assert b"/#token=" in second


def test_garbage_and_endless_headers_do_not_end_it(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        place = urlsplit(server.url)
        endless = b"GET /healthz HTTP/1.1\r\nHost: x\r\nLast-Event-ID: " + b"9" * 10_000_000
        for junk in (b"\x00\xff garbage\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", endless + b"\r\n\r\n"):
            with socket.create_connection((str(place.hostname), place.port or 0)) as raw:
                raw.settimeout(20)
                try:
                    raw.sendall(junk)
                    assert b" 200 " not in raw.recv(4096)
                except OSError:
                    continue  # it hung up on us
        assert server.request("GET", "/healthz")[0] == 200
