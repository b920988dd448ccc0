"""The contracts of import-linter keep up with the code."""

import tomllib
from pathlib import Path

from shipmate.tools.catalog import BUILTIN

ROOT = Path(__file__).resolve().parents[2]


def test_each_tool_provider_is_in_the_contract_that_keeps_them_apart() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = [one for one in linter["contracts"] if one["id"] == "providers"]
    assert set(contract["modules"]) == {f"shipmate.tools.{provider}" for provider in BUILTIN}
