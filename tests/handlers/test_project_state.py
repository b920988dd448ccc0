"""What the API tells of a project: its git, and what confines its commands."""

import subprocess
from pathlib import Path

from tests.handlers.house import whole

STATE = "/api/projects/demo/state"


async def test_a_project_tells_its_git_and_its_sandbox(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        bare = (await house.call("GET", STATE)).json
        subprocess.run(["git", "init", "-q", "-b", "trunk", house.project], check=True)
        (house.project / "a").write_text("a")
        told = (await house.call("GET", STATE)).json
        unknown = await house.call("GET", "/api/projects/other/state")
    assert bare["git"] is None
    assert "not a git repository" in bare["git_problem"]
    assert (told["git"]["branch"], told["git"]["changed"]) == ("trunk", 1)
    assert told["sandbox"] == {"means": "bubblewrap", "missing": []}
    assert unknown.status == 404


async def test_without_a_sandbox_it_says_so_and_asks_no_git(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[sandbox]\nmode = "off"\n')
    async with whole(tmp_path) as house:
        told = (await house.call("GET", STATE)).json
    assert told["sandbox"]["means"] == "none"
    assert "configuration" in told["sandbox"]["missing"][0]
    assert "without a sandbox" in told["git_problem"]
