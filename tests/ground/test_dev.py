"""`./dev`: what it says without doing anything."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "dev", *arguments], capture_output=True, text=True, check=False
    )


def test_help_names_each_word() -> None:
    said = dev("--help")
    assert said.returncode == 0
    for word in ("setup", "run", "test", "check", "e2e", "bench"):
        assert f"\n  {word} " in said.stdout


def test_without_a_word_it_prints_the_help() -> None:
    assert dev().stdout == dev("--help").stdout


def test_an_unknown_word_is_a_usage_error_that_lists_the_known_ones() -> None:
    said = dev("deploy")
    assert said.returncode == 2
    assert "'deploy'" in said.stderr
    assert "setup, run, test, check, e2e, bench" in said.stderr
