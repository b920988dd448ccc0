"""Where the data directory is, who may read it, and that one server has it at a time."""

import subprocess
import sys
from pathlib import Path

import pytest

from shipmate.config.directory import data_directory, held
from shipmate.errors import ConfigError, ConflictError


def test_the_option_wins_then_the_variable_then_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    named = {"SHIPMATE_DATA": str(tmp_path / "variable")}
    assert data_directory(tmp_path / "option", named) == tmp_path / "option"
    assert data_directory(None, named) == tmp_path / "variable"
    if sys.platform == "linux":
        assert data_directory(None, {}) == tmp_path / "share" / "shipmate"
    assert data_directory("relative", {}) == tmp_path / "relative"


def test_the_working_folder_does_not_configure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    (project / "data" / "config.toml").write_text("[server]\nport = 1\n")
    monkeypatch.chdir(project)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert project not in data_directory(None, {}).parents


def test_the_directory_is_for_its_owner_only(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir(mode=0o755)
    for path in (open_to_all, tmp_path / "new" / "deep"):
        assert data_directory(path).stat().st_mode & 0o777 == 0o700


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file cannot be used"):
        data_directory(tmp_path / "file")


HOLD = """
import sys
from pathlib import Path
from shipmate.config.directory import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_directory_is_held_by_one_process_until_it_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(ConflictError, match=f"process {other.pid}"), held(tmp_path):
            pass
        other.kill()
    with held(tmp_path):
        assert (tmp_path / "lock").exists()
