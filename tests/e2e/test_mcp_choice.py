"""Which MCP servers agents may use: in a project, and by which agent."""

from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.e2e.test_mcp_page import OK, SLOW
from tests.mcp.running import fake


def test_a_project_chooses_its_servers_on_the_page(desk: Desk, tmp_path: Path) -> None:
    for name in ("one", "two"):
        line = list(fake(tmp_path, {"pages": [[OK]]}, name).command)
        desk.server.api("POST", "/api/agent/mcp", {"name": name, "command": line})
    desk.open("#/settings/projects")
    desk.page.reload()
    desk.page.get_by_text("MCP servers: all").click()
    group = desk.page.get_by_role("group", name="MCP servers of Demo")
    expect(group.get_by_label("one")).to_be_disabled()
    group.get_by_label("All, and those that are added later").uncheck()
    expect(desk.page.get_by_text("MCP servers: one, two")).to_be_visible()
    group.get_by_label("two").uncheck()
    expect(desk.page.get_by_text("MCP servers: one", exact=True)).to_be_visible()
    desk.page.set_viewport_size({"width": 390, "height": 800})
    assert faults(desk.page) == []
    assert desk.page.evaluate("document.documentElement.scrollWidth") <= 390
    desk.page.set_viewport_size({"width": 1280, "height": 800})

    desk.open("#/settings/mcp")
    ready = desk.page.get_by_role("list", name="MCP servers").get_by_text("Ready", exact=True)
    expect(ready).to_have_count(2, timeout=SLOW)
    desk.open()
    desk.say("which tools are there?")
    desk.done()
    asked = next(seen.body for seen in desk.provider.seen if "tools" in seen.body)
    offered = [tool["function"]["name"] for tool in asked["tools"]]
    assert [name for name in offered if "__" in name] == ["one__ok"]

    desk.open("#/settings/projects")
    desk.page.get_by_text("MCP servers: one", exact=True).click()
    group.get_by_label("one").uncheck()
    expect(desk.page.get_by_text("MCP servers: none")).to_be_visible()
    desk.page.reload()
    expect(desk.page.get_by_text("MCP servers: none")).to_be_visible()
