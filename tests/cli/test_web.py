"""The web tools in the whole product: settings, an approval, a page, what the model is sent."""

import json
from pathlib import Path

import pytest

from tests.cli.server import shipmate
from tests.provider import Provider, call_reply
from tests.site import Site

PAGE = {"headers": {"Content-Type": "text/html"}, "body": "<h1>Hello</h1><p>from a site</p>"}


def settled(tmp_path: Path, provider: Provider, web: str) -> tuple[str, ...]:
    (tmp_path / "project").mkdir()
    (tmp_path / "config.toml").write_text(
        f'[providers.own]\nbase_url = "{provider.url}"\n'
        f'[projects.demo]\npath = "{tmp_path / "project"}"\n{web}'
    )
    return (
        "run",
        "--data",
        str(tmp_path),
        "-p",
        "demo",
        "-m",
        "own/m",
        "--approve",
        "all",
        "--json",
    )


def test_a_page_is_fetched_once_it_was_approved(tmp_path: Path, provider: Provider) -> None:
    with Site({"/a": PAGE}) as site:
        words = settled(tmp_path, provider, f'[web]\nhosts = ["127.0.0.1:{site.port}"]\n')
        provider.queue(call_reply(("fetch_webpage", {"url": f"{site.url}/a"})))
        done = shipmate(*words, "read it")
    told = [json.loads(line) for line in done.stdout.decode().strip().split("\n")]
    [asked] = [e for e in told if e["type"] == "approval_request" and "result" not in e]
    assert asked["details"] == {
        "kind": "request",
        "urls": [f"{site.url}/a"],
        "hosts": [f"127.0.0.1:{site.port}"],
    }
    assert asked["suggested"] == [f"web:127.0.0.1:{site.port}"]
    [result] = [e for e in told if e["type"] == "tool_result"]
    assert result["untrusted"]
    assert [e["row"]["untrusted"] for e in told if e["type"] == "session"][-1]
    [sent] = [m["content"] for m in provider.seen[1].messages if m["role"] == "tool"]
    assert sent.startswith("<untrusted-data>\n--- PAGE: ")
    assert "# Hello\n\nfrom a site" in sent
    assert site.hits[0].headers["user-agent"] == "shipmate"


def test_without_the_setting_this_machine_is_refused(tmp_path: Path, provider: Provider) -> None:
    with Site({"/a": PAGE}) as site:
        words = settled(tmp_path, provider, "")
        provider.queue(call_reply(("fetch_webpage", {"url": f"{site.url}/a"})))
        done = shipmate(*words, "read it")
        assert site.hits == []
    assert b"this machine (loopback)" in done.stdout


@pytest.mark.parametrize(
    ("web", "why"),
    [
        ('hosts = ["http://x/"]', "is no host"),
        ('proxy = "socks5://x:1"', "proxy must look like"),
        ("seconds = 0", "seconds"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, web: str, why: str) -> None:
    (tmp_path / "config.toml").write_text(f"[web]\n{web}\n")
    done = shipmate("check", "config", "--data", tmp_path)
    assert done.returncode == 2
    assert why in done.stdout.decode()
