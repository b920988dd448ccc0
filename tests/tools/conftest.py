"""A project to work in."""

from pathlib import Path

import pytest

from shipmate.tools.tool import Workspace


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    """A project in `tmp_path/project`; outputs are kept beside it."""
    root = tmp_path.resolve() / "project"
    root.mkdir()
    return Workspace(root=root, session="s1", files=tmp_path.resolve() / "files")
