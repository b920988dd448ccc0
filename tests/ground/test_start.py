"""What a start may import: it should be there at once (decision 0001)."""

import subprocess
import sys

FORBIDDEN = ("pydantic", "fastapi", "sqlalchemy", "aiohttp", "PIL", "tree_sitter", "rich")


def test_the_server_starts_without_what_is_heavy() -> None:
    code = "import sys, shipmate.cli, shipmate.cli.serve; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(said.stdout.split())
    assert "shipmate.app" in loaded
    assert [name for name in FORBIDDEN if name in loaded] == []
