"""The route table: every endpoint of every noun."""

from types import ModuleType

import msgspec

from shipmate.handlers import (
    agents,
    auditing,
    auth,
    changes,
    chat,
    compacting,
    completions,
    copies,
    dashboard,
    decisions,
    dispatch,
    github,
    health,
    info,
    mcp,
    mcp_sign_in,
    models,
    page,
    projects,
    providers,
    queue,
    reading,
    rules,
    search,
    sessions,
    settings,
    sign_ins,
    stored,
    usage,
    users,
)
from shipmate.handlers.openapi import describe
from shipmate.handlers.route import Answer, Call, Endpoint, Nothing, endpoint

NOUNS: tuple[ModuleType, ...] = (
    info,
    agents,
    sessions,
    search,
    copies,
    reading,
    changes,
    chat,
    completions,
    compacting,
    decisions,
    queue,
    rules,
    projects,
    github,
    dispatch,
    dashboard,
    providers,
    models,
    mcp,
    mcp_sign_in,
    settings,
    health,
    stored,
    auth,
    sign_ins,
    usage,
    users,
    auditing,
    page,
)


@endpoint("GET", "/api/openapi.json", scope="read", answer=dict)
async def openapi(_call: Call[Nothing]) -> Answer:
    """This document."""
    return msgspec.json.encode(describe(ENDPOINTS))


def _of(module: ModuleType) -> list[Endpoint]:
    return [value for value in vars(module).values() if isinstance(value, Endpoint)]


ENDPOINTS: tuple[Endpoint, ...] = (*(one for module in NOUNS for one in _of(module)), openapi)
