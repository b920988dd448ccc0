"""A project to work in."""

from pathlib import Path

import pytest

from shipmate.tools import ripgrep
from shipmate.tools.tool import Workspace


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    """A project in `tmp_path/project`; outputs are kept beside it."""
    root = tmp_path.resolve() / "project"
    root.mkdir()
    return Workspace(root=root, session="s1", files=tmp_path.resolve() / "files")


@pytest.fixture(params=["ripgrep", "our own program"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test runs with both search programs."""
    if request.param != "ripgrep":
        monkeypatch.setattr(ripgrep, "ripgrep", lambda: "")
    elif not ripgrep.ripgrep():
        pytest.skip("there is no ripgrep")
    return request.param
