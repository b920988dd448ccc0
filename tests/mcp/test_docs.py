"""What docs/mcp.md shows is run: the server of one's own is started and called."""

import sys
from pathlib import Path

from shipmate.mcp.settings import McpServerSettings
from tests.docs.pages import EXAMPLES
from tests.mcp.running import pool_of
from tests.mcp.test_reports import called


async def test_the_server_of_ones_own_runs_and_its_tool_can_be_called(tmp_path: Path) -> None:
    (example,) = [e for e in EXAMPLES if e.page == "docs/mcp.md" and e.language == "python"]
    (tmp_path / "notes_server.py").write_text(example.text)
    settings = McpServerSettings(command=(sys.executable, "notes_server.py"), cwd=str(tmp_path))
    async with pool_of(tmp_path, {"notes": settings}, connect_s=40.0) as running:
        await running.ready()
        assert running.names() == ["notes__add"]
        result = await called(tmp_path, running, "add", {"text": "milk"}, server="notes")
    assert result.text == "Kept; there are 1 now."
