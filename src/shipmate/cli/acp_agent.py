"""`shipmate acp`: an agent that editors drive over the Agent Client Protocol."""

import asyncio
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import acp
import msgspec
from acp import schema

from shipmate import __version__
from shipmate.cli.acp_talk import Talk
from shipmate.cli.acp_updates import Updates
from shipmate.cli.any_server import a_server, log_to_stderr
from shipmate.cli.api import Api, connected
from shipmate.config.directory import data_directory
from shipmate.errors import ShipmateError
from shipmate.protocol import AnyBlock, ApprovalRequest, Pending, new_id

log = logging.getLogger(__name__)

INVALID = -32602
MODEL = "model"
PAGE = 500


def serve_editor(data: Path | None, agent: str, model: str) -> int:
    log_to_stderr()
    asyncio.run(_serve(data_directory(data), agent, model))
    return 0


async def _serve(data: Path, agent: str, model: str) -> None:
    async with a_server(data) as server, connected(server) as api:
        # it takes by name what it needs of each request, as the SDK gives it
        await acp.run_agent(cast(acp.Agent, Editor(api, agent, model)))


@dataclass
class Editor:
    api: Api
    agent: str
    model: str
    talks: dict[str, Talk] = field(default_factory=dict[str, Talk])

    def on_connect(self, conn: acp.Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_info=schema.Implementation(
                name="shipmate", title="shipmate", version=__version__
            ),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities()
                ),
            ),
        )

    async def new_session(
        self, cwd: str, mcp_servers: Any = None, **_: Any
    ) -> acp.NewSessionResponse:
        _tell_of_servers(mcp_servers)
        client_id = f"acp-{new_id()}"
        session = new_id(client_id)
        project = await self._checked(self._project(cwd))
        info = await self.api.call("GET", "/api/agent/info")
        model = self.model or info["default_model"]
        talk = Talk(self.api, session, client_id, project, self.agent, model, Updates(Path(cwd)))
        self.talks[session] = talk
        return acp.NewSessionResponse(
            session_id=session, modes=_modes(info, talk), config_options=_options(info, talk)
        )

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Any = None, **_: Any
    ) -> acp.LoadSessionResponse:
        _tell_of_servers(mcp_servers)
        path = f"/api/agent/sessions/{session_id}"
        view = await self._checked(self.api.call("GET", f"{path}?limit={PAGE}"))
        row, blocks = view["session"], view["blocks"]
        while view["more"]:
            before = view["blocks"][0]["pos"]
            view = await self.api.call("GET", f"{path}?limit={PAGE}&before={before}")
            blocks = view["blocks"] + blocks
        talk = Talk(
            self.api,
            session_id,
            "",
            row["project"],
            row["agent"],
            row["provider"],
            Updates(Path(cwd)),
            begun=True,
            after=row["last_seq"],
        )
        self.talks[session_id] = talk
        for one in msgspec.convert(view["pending"], list[Pending]):
            if isinstance(one, ApprovalRequest):
                talk.pending[one.id] = one
        for block in msgspec.convert(blocks, list[AnyBlock]):
            for update in talk.updates.of(block, replay=True):
                await self.client.session_update(session_id, update)
        if row["status"] == "waiting_approval":
            words = f"\n\nThis waits for your approval: {self.api.url}/#/s/{session_id}\n"
            await self.client.session_update(session_id, acp.update_agent_message_text(words))
        info = await self.api.call("GET", "/api/agent/info")
        return acp.LoadSessionResponse(
            modes=_modes(info, talk), config_options=_options(info, talk)
        )

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        projects = (await self.api.call("GET", "/api/projects"))["projects"]
        folders = {one["id"]: str(Path(one["path"]).expanduser()) for one in projects}
        wanted = str(Path(cwd).resolve()) if cwd else ""
        found = [key for key, folder in folders.items() if folder == wanted]
        if wanted and not found:
            return schema.ListSessionsResponse(sessions=[])
        query = f"?project={found[0]}&cursor={cursor or ''}" if found else f"?cursor={cursor or ''}"
        page = await self._checked(self.api.call("GET", f"/api/agent/sessions{query}"))
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(
                    session_id=row["id"], cwd=folders[row["project"]], title=row["title"]
                )
                for row in page["sessions"]
                if row["project"] in folders
            ],
            next_cursor=page["cursor"] or None,
        )

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        text, attachments = _read(prompt)
        said = self._talk(session_id).say(self.client, text, attachments)
        return acp.PromptResponse(stop_reason=await self._checked(said))

    async def cancel(self, session_id: str, **_: Any) -> None:
        if self._talk(session_id).begun:
            await self.api.call("POST", "/api/agent/stop", {"session": session_id})

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> acp.SetSessionModeResponse:
        talk = self._talk(session_id)
        await self._change(talk, agent=mode_id)
        talk.agent = mode_id
        return acp.SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        talk = self._talk(session_id)
        if config_id != MODEL or not isinstance(value, str):
            raise acp.RequestError(INVALID, f"There is no option {config_id!r}; it is {MODEL!r}.")
        await self._change(talk, provider=value)
        talk.model = value
        info = await self.api.call("GET", "/api/agent/info")
        return schema.SetSessionConfigOptionResponse(config_options=_options(info, talk))

    async def _change(self, talk: Talk, **fields: str) -> None:
        if talk.begun:
            path = f"/api/agent/sessions/{talk.id}"
            await self._checked(self.api.call("PATCH", path, fields))

    async def _project(self, cwd: str) -> str:
        if not Path(cwd).is_dir():
            raise acp.RequestError(INVALID, f"{cwd!r} is no folder.")
        return await self.api.project(str(Path(cwd).resolve()))

    def _talk(self, session: str) -> Talk:
        if session not in self.talks:
            raise acp.RequestError(INVALID, f"The session {session!r} is not open; load it first.")
        return self.talks[session]

    async def _checked(self, doing: Any) -> Any:
        """What is refused is told in its words."""
        try:
            return await doing
        except ShipmateError as error:
            raise acp.RequestError(INVALID, str(error)) from error


def _tell_of_servers(servers: Any) -> None:
    if servers:
        log.warning("MCP servers of the editor are not used: set them up in shipmate")


def _modes(info: Any, talk: Talk) -> schema.SessionModeState:
    """The agents, as modes."""
    modes = [
        schema.SessionMode(id=one["id"], name=one["id"], description=one["description"])
        for one in info["agents"]
    ]
    return schema.SessionModeState(current_mode_id=talk.agent, available_modes=modes)


def _options(info: Any, talk: Talk) -> list[Any]:
    """The models that can be used."""
    found = [
        schema.SessionConfigSelectOption(
            value=f"{provider['id']}/{model['id']}",
            name=model["name"] or model["id"],
            description=provider["name"],
        )
        for provider in info["providers"]
        for model in provider["models"]
        if model["available"]
    ]
    return [
        schema.SessionConfigOptionSelect(
            id=MODEL,
            name="Model",
            category="model",
            type="select",
            current_value=talk.model,
            options=found,
        )
    ]


def _read(prompt: list[Any]) -> tuple[str, list[dict[str, str]]]:
    """What is said, and the texts that are given with it."""
    words: list[str] = []
    attached: list[dict[str, str]] = []
    for block in prompt:
        match block:
            case schema.TextContentBlock():
                words.append(block.text)
            case schema.ResourceContentBlock():
                words.append(f"@{block.uri.removeprefix('file://')}")
            case schema.EmbeddedResourceContentBlock(
                resource=schema.TextResourceContents() as held
            ):
                name = held.uri.removeprefix("file://")
                attached.append({"kind": "file", "name": name[-300:], "text": held.text})
            case _:
                raise acp.RequestError(INVALID, "Only text and files of text can be said here.")
    return "".join(words), attached
