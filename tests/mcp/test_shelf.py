"""Tools that are too many for the model: listed by name, fetched, then offered and called."""

from pathlib import Path

from shipmate.agent.profile import ASSISTANT
from shipmate.llm.scripted import call, say
from shipmate.mcp.shelf import Wanted
from shipmate.protocol import ToolsDetail
from tests.mcp.running import approved, fake, playing, pool_of
from tests.mcp.test_faults import page


async def test_tools_beyond_the_share_are_fetched_and_can_then_be_called(tmp_path: Path) -> None:
    servers = {
        "many": fake(tmp_path, {"generate_tools": 400, "description_chars": 400}, "many"),
        "fake": fake(tmp_path, page("create_issue"), "fake"),
    }
    async with pool_of(tmp_path, servers) as running:
        await running.ready()
        offer = running.pool.offer(Wanted(ASSISTANT.providers))
        assert list(offer.tools) == ["tool_search"]
        assert len(offer.shelf) == 401
        assert "fake__create_issue" in offer.tools["tool_search"].description
        assert "more" in offer.tools["tool_search"].description
        assert running.pool.offer(Wanted(ASSISTANT.providers)) is offer
        steps = [call("tool_search", query="create issue"), call("fake__create_issue"), say("Ok.")]
        async with playing(tmp_path, running, steps) as server:
            found, made = await approved(server)
            offered = [[tool.name for tool in r.tools] for r in server.model.requests]
    assert isinstance(found.details, ToolsDetail)
    assert found.details.names[0] == "fake__create_issue"
    assert made.text == "ok"
    assert offered[0] == ["tool_search"]
    assert offered[1][:2] == ["tool_search", "fake__create_issue"]
    assert offered[2] == offered[1]


async def test_tools_within_the_share_are_all_offered(tmp_path: Path) -> None:
    async with pool_of(tmp_path, {"fake": fake(tmp_path, page("a", "b"))}) as running:
        await running.ready()
        assert running.names() == ["fake__a", "fake__b"]
        running.share = 0.0
        assert running.names() == ["tool_search"]
