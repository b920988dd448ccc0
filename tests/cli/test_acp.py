"""`shipmate acp`, driven by the client of the protocol's own SDK."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp import schema

from tests.cli.server import command, environment, served
from tests.provider import Answer, Provider, call_reply, text_reply


@dataclass
class Window:
    """What an editor shows; `choice` is what its user clicks when asked."""

    choice: str = "allow"
    updates: list[Any] = field(default_factory=list[Any])
    asked: list[schema.ToolCallUpdate] = field(default_factory=list[schema.ToolCallUpdate])
    told: asyncio.Event = field(default_factory=asyncio.Event)
    asking: asyncio.Event = field(default_factory=asyncio.Event)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self.told.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> Any:
        self.asked.append(tool_call)
        self.asking.set()
        if self.choice == "wait":
            await asyncio.Event().wait()
        assert self.choice in [one.option_id for one in options]
        outcome = schema.AllowedOutcome(outcome="selected", option_id=self.choice)
        return schema.RequestPermissionResponse(outcome=outcome)

    def on_connect(self, conn: Any) -> None: ...

    def of(self, kind: str) -> list[Any]:
        return [one for one in self.updates if one.session_update == kind]

    @property
    def text(self) -> str:
        return "".join(one.content.text for one in self.of("agent_message_chunk"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "README.md").write_text("one\ntwo\n")
    return folder


@pytest.fixture
def data(tmp_path: Path, provider: Provider) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'[providers.own]\nbase_url = "{provider.url}"\nmodels = [{{ id = "m" }}, {{ id = "n" }}]\n'
    )
    return folder


@asynccontextmanager
async def editor(data: Path, window: Window) -> AsyncGenerator[Any]:
    program, *rest = command("acp", "--data", data, "-m", "own/m")
    async with acp.spawn_agent_process(
        cast(acp.Client, window), program, *rest, env=environment()
    ) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        yield agent


async def test_a_prompt_is_answered_in_pieces(
    data: Path, project: Path, provider: Provider
) -> None:
    provider.queue(text_reply("Hello ", "there."))
    window = Window()
    async with editor(data, window) as agent:
        made = await agent.new_session(cwd=str(project), mcp_servers=[])
        answer = await agent.prompt(session_id=made.session_id, prompt=[acp.text_block("hi")])
    assert answer.stop_reason == "end_turn"
    assert window.text == "Hello there."
    assert "assistant" in [mode.id for mode in made.modes.available_modes]
    assert [one.value for one in made.config_options[0].options if one.value[:4] == "own/"] == [
        "own/m",
        "own/n",
    ]


async def test_a_write_is_shown_as_a_diff_and_runs_when_it_is_allowed(
    data: Path, project: Path, provider: Provider
) -> None:
    made = {"path": "new.txt", "content": "words\n"}
    provider.queue(call_reply(("write_file", made)), text_reply("Written."))
    window = Window()
    async with editor(data, window) as agent:
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        answer = await agent.prompt(session_id=session, prompt=[acp.text_block("write")])
    assert answer.stop_reason == "end_turn"
    [asked] = window.asked
    [diff] = [one for one in asked.content or () if one.type == "diff"]
    assert (diff.path, diff.new_text) == (str(project / "new.txt"), "words\n")
    assert (project / "new.txt").read_text() == "words\n"
    [start] = window.of("tool_call")
    assert (start.kind, start.status) == ("edit", "pending")
    assert [one.status for one in window.of("tool_call_update")][-1] == "completed"


async def test_what_is_denied_is_not_run(data: Path, project: Path, provider: Provider) -> None:
    provider.queue(
        call_reply(("write_file", {"path": "new.txt", "content": "x"})), text_reply("Not then.")
    )
    window = Window("deny")
    async with editor(data, window) as agent:
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        await agent.prompt(session_id=session, prompt=[acp.text_block("write")])
    assert window.text == "Not then."
    assert not (project / "new.txt").exists()


async def test_cancel_is_stop(data: Path, project: Path, provider: Provider) -> None:
    provider.queue(Answer(text_reply("Begun", " and never ended")[:200], after="hang"))
    window = Window()
    async with editor(data, window) as agent:
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        saying = asyncio.ensure_future(
            agent.prompt(session_id=session, prompt=[acp.text_block("hi")])
        )
        while not provider.seen:
            window.told.clear()
            await window.told.wait()
        await agent.cancel(session_id=session)
        answer = await saying
    assert answer.stop_reason == "cancelled"


async def test_a_decision_on_the_page_counts_and_the_round_goes_on(
    data: Path, project: Path, provider: Provider
) -> None:
    provider.queue(
        call_reply(("write_file", {"path": "new.txt", "content": "x"})), text_reply("Written.")
    )
    window = Window("wait")
    with served(data) as server:
        async with editor(data, window) as agent:
            session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
            saying = asyncio.ensure_future(
                agent.prompt(session_id=session, prompt=[acp.text_block("write")])
            )
            await window.asking.wait()
            body = {"session": session, "approved": True}
            await asyncio.to_thread(server.api, "POST", "/api/agent/approval", body)
            answer = await saying
    assert answer.stop_reason == "end_turn"
    assert window.text == "Written."
    assert (project / "new.txt").exists()


async def test_a_question_ends_the_turn_and_the_next_message_answers_it(
    data: Path, project: Path, provider: Provider
) -> None:
    ask = {"question": "Which one?", "options": ["a", "b"]}
    provider.queue(call_reply(("ask_user", ask)), text_reply("b it is."))
    window = Window()
    async with editor(data, window) as agent:
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        await agent.prompt(session_id=session, prompt=[acp.text_block("hi")])
        assert "Which one?\n- a\n- b" in window.text
        await agent.prompt(session_id=session, prompt=[acp.text_block("b")])
    assert window.text.endswith("b it is.")
    assert provider.seen[1].messages[-1]["role"] == "tool"


async def test_a_session_is_loaded_with_all_that_was_said_and_goes_on(
    data: Path, project: Path, provider: Provider
) -> None:
    provider.queue(text_reply("One."))
    async with editor(data, Window()) as agent:
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        await agent.prompt(session_id=session, prompt=[acp.text_block("first")])
    window = Window()
    async with editor(data, window) as agent:
        [listed] = (await agent.list_sessions(cwd=str(project))).sessions
        assert listed.session_id == session
        await agent.load_session(cwd=str(project), session_id=session, mcp_servers=[])
        assert [one.content.text for one in window.of("user_message_chunk")] == ["first"]
        assert window.text == "One."
        await agent.set_config_option(config_id="model", session_id=session, value="own/n")
        await agent.set_session_mode(session_id=session, mode_id="explorer")
        provider.queue(text_reply("Two."))
        await agent.prompt(session_id=session, prompt=[acp.text_block("second")])
    assert window.text == "One.Two."
    assert provider.seen[-1].body["model"] == "n"


async def test_what_cannot_be_is_said_in_words(data: Path, tmp_path: Path) -> None:
    async with editor(data, Window()) as agent:
        with pytest.raises(acp.RequestError, match="is no folder"):
            await agent.new_session(cwd=str(tmp_path / "none"), mcp_servers=[])
        with pytest.raises(acp.RequestError, match="not open"):
            await agent.prompt(session_id="nope", prompt=[acp.text_block("x")])
