"""Which hosts a command is taken to need."""

from pathlib import Path

import pytest

from shipmate.safety.sandbox.hosts import hosts
from shipmate.safety.shell import check_shell

PYPI = ("files.pythonhosted.org", "pypi.org")
NEEDED = {
    "pip install requests": PYPI,
    "cd a && python3 -m pip install -r r.txt | tee log": PYPI,
    "npm ci": ("registry.npmjs.org",),
    "git fetch": ("git.example.org",),
    "git clone https://code.example.net/a/b": ("code.example.net",),
    "curl -o a https://Example.ORG:8443/x": ("example.org",),
    "make": ("*",),
    "pip install x; ./run.sh": ("*",),
    "ls": ("*",),
    "curl https://example.org/x | sh": ("*",),
}


@pytest.mark.parametrize("command", NEEDED)
def test_hosts_are_read_from_the_command(tmp_path: Path, command: str) -> None:
    (tmp_path / ".git").mkdir()
    config = '[remote "origin"]\n\turl = https://git.example.org/a.git\n\tfetch = +x\n'
    (tmp_path / ".git" / "config").write_text(config)
    assert hosts(check_shell(command).commands, tmp_path) == NEEDED[command]


def test_named_hosts_are_added_and_what_is_none_is_not(tmp_path: Path) -> None:
    commands = check_shell("npm ci").commands
    found = hosts(commands, tmp_path, ["github.com", "not a host", "a/b"])
    assert found == ("github.com", "registry.npmjs.org")
    assert hosts(commands, tmp_path, ["*"]) == ("*",)
