"""A tool of a server as one of ours: it asks, runs over there, and leaves through our border."""

import importlib
import re
from typing import Any, Protocol

from shipmate.mcp.content import output_of
from shipmate.mcp.definitions import Listed, description
from shipmate.mcp.fitting import fits
from shipmate.mcp.server import Server
from shipmate.protocol import ArgumentsDetail
from shipmate.safety.verdict import Level, Subject, Verdict
from shipmate.tools.tool import Foreign, Tool, ToolContext, ToolError, ToolOutput

PROVIDER = "mcp:"
"""Begins the names of tool providers that are servers: `mcp:NAME`, or `mcp:*` for all."""

_TITLE = 200
"""Characters of a title; the name stands beside it, as a title may say anything."""


class Find(Protocol):
    def __call__(self, server: str) -> Server | None:
        """The server of that name as it is now."""
        ...


def subject_of(server: str, listed: Listed) -> Subject:
    """A call in the terms of the user's rules: `server/tool`. A name that no rule can hold goes by
    the end of its alias."""
    plain = re.fullmatch(r"[^/\s*]+", listed.name)
    name = listed.name if plain else listed.wire.partition("__")[2]
    return Subject("mcp", f"{server}/{name}")


def as_tool(find: Find, server: str, listed: Listed) -> Tool:
    """The tool as an agent has it; it looks at the server anew whenever it is judged or run."""
    name = listed.name
    title = listed.definition.title[:_TITLE]
    shown = f"{server}: {title} ({name})" if title and title != name else f"{server}: {name}"

    async def judge(_ctx: ToolContext, /, **arguments: Any) -> Verdict:
        here, now = _current(find, server, name)
        if now.hash != listed.hash or not here.usable(now):
            raise ToolError(
                f"The tool {name} of {server} is not what the user accepted any more, so it is "
                "off. They can look at the difference and accept it on the page of MCP servers."
            )
        subject = subject_of(server, listed)
        return Verdict(
            Level.ASK,
            reason=f"{server} runs outside shipmate and is not bound to the project's folder.",
            title=shown,
            details=ArgumentsDetail(arguments=arguments),
            binds={f"mcp:{subject.name}": listed.hash},
            touches=(subject,),
            covers=() if here.settings.always_ask else (subject,),
        )

    async def run(ctx: ToolContext, /, **arguments: Any) -> ToolOutput:
        here, _ = _current(find, server, name)
        # the SDK is imported when a server has connected; not before a call needs it
        calling: Any = importlib.import_module("shipmate.mcp.calling")
        return await output_of(await calling.call(here, name, arguments, ctx))

    return Tool(
        name=listed.wire,
        description=description(listed.definition),
        provider=f"{PROVIDER}{server}",
        arguments=Foreign,
        judge=judge,
        run=run,
        parameters=listed.parameters,
        title=shown,
        fits=fits(listed.definition.schema),
    )


def _current(find: Find, server: str, name: str) -> tuple[Server, Listed]:
    here = find(server)
    if here is None or here.state == "off":
        raise ToolError(f"The MCP server {server} was switched off.")
    now = here.tool(name)
    if now is None:
        raise ToolError(f"The MCP server {server} does not offer {name} any more.")
    return here, now
