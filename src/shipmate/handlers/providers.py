"""Model providers: what is set up, what was found on this machine, adding and testing one."""

import os
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, structs

from shipmate.errors import NotFoundError, ShipmateError
from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.llm.detect import Found, detect
from shipmate.llm.known import BUILT_IN, KNOWN
from shipmate.llm.listing import base_url_of
from shipmate.llm.providers import Tested
from shipmate.llm.settings import ModelSettings, ProviderSettings
from shipmate.safety.secrets import SecretRef


class ProviderView(msgspec.Struct, frozen=True):
    """A provider that is set up. Its key is never shown, only where it is."""

    id: str
    type: str
    title: str
    base_url: str
    key: str
    """`env:NAME`, `secret:NAME`, `keyring:NAME`, or empty."""
    problem: str
    """Why it cannot be used: its key is missing."""
    thinking_enabled: bool | None
    reasoning_effort: str | None
    models: list[ModelSettings]
    """Those configured; empty: what its server lists."""


_UNSHOWN = dict.fromkeys(("base_url", "key", "problem"), "")


class FoundView(msgspec.Struct, frozen=True):
    """A provider that could be set up with one click: POST its `id`, `type`, `base_url`, `env`."""

    id: str
    type: str
    title: str
    base_url: str
    env: str
    """The environment variable that holds its key."""
    origin: str
    """Where it was found, for a person."""
    models: list[str]


class TypeView(msgspec.Struct, frozen=True):
    type: str
    title: str
    base_url: str
    local: bool
    """A server on this machine: it needs no key."""


class ProviderList(msgspec.Struct, frozen=True):
    configured: list[ProviderView]
    found: list[FoundView]
    types: list[TypeView]
    """What `type` can be."""


class Setup(Input, frozen=True, kw_only=True):
    """The settings of a provider, and its key: pasted, or the name of a variable."""

    id: Annotated[str, Meta(max_length=64)]
    type: str = "openai"
    title: Annotated[str, Meta(max_length=100)] = ""
    base_url: str = ""
    key: Annotated[str, Meta(max_length=10_000)] = ""
    """Kept in the secrets; never shown again."""
    env: str = ""
    thinking_enabled: bool | None = None
    reasoning_effort: Literal["off", "low", "high", "max"] | None = None
    models: tuple[ModelSettings, ...] = ()


@endpoint("GET", "/api/providers", scope="read", answer=ProviderList)
async def providers(call: Call[Nothing]) -> Answer:
    """The providers that are set up, and those found: keys in the environment, model servers on
    this machine. Looking for servers takes up to a second. What was found, and where a provider
    and its key are, is for admins."""
    configured = call.house.config.settings.providers
    admin = call.caller.may("admin")
    detected = await detect(os.environ) if admin else ()
    found = [_found(one) for one in detected if one.id not in configured]
    views = [_view(call.house, name) for name in configured]
    shown = views if admin else [structs.replace(one, **_UNSHOWN) for one in views]
    types = [
        TypeView(name, known.title, known.base_url, known.local)
        for name, known in KNOWN.items()
        if name not in BUILT_IN
    ]
    return ProviderList(shown, found, types)


@endpoint("POST", "/api/providers", scope="admin", body=Setup, answer=ProviderView, status=201)
async def add_provider(call: Call[Setup]) -> Answer:
    """Set up a provider, or replace its settings. Without `key` and `env` a key that is kept for
    it stays."""
    asked, house = call.given, call.house
    house.config.add_provider(asked.id, _settings(house, asked), asked.key or None)
    await house.providers.refresh(asked.id)
    return _view(house, asked.id)


@endpoint("DELETE", "/api/providers/{id}", scope="admin")
async def remove_provider(call: Call[Nothing]) -> None:
    """Remove a provider, and the key that was pasted for it."""
    call.house.config.remove_provider(call.path["id"])


@endpoint("POST", "/api/providers/test", scope="admin", body=Setup, answer=Tested)
async def test_provider(call: Call[Setup]) -> Answer:
    """Whether a provider answers with this key, before or after it is set up. `ok: false` comes
    with what is wrong in words a person can act on."""
    asked, house = call.given, call.house
    return await house.providers.test(_settings(house, asked), asked.key or None)


def _settings(house: House, asked: Setup) -> ProviderSettings:
    if asked.type not in KNOWN:
        raise HttpError(422, "invalid", f"The body does not fit: unknown `type` {asked.type!r}.")
    if asked.key and asked.env:
        raise HttpError(422, "invalid", "The body does not fit: give `key` or `env`, not both.")
    known = house.config.settings.providers.get(asked.id)
    key = SecretRef(env=asked.env) if asked.env else known.api_key if known else None
    try:
        return ProviderSettings(
            type=asked.type,
            title=asked.title,
            base_url=asked.base_url,
            api_key=None if asked.key else key,
            thinking_enabled=asked.thinking_enabled,
            reasoning_effort=asked.reasoning_effort,
            models=asked.models,
        )
    except ValueError as error:
        raise ShipmateError(str(error)) from error


def _view(house: House, name: str) -> ProviderView:
    one = house.config.settings.providers.get(name)
    if one is None:
        raise NotFoundError(f"There is no provider {name!r}.")
    return ProviderView(
        id=name,
        type=one.type,
        title=one.title or KNOWN[one.type].title,
        base_url=base_url_of(one),
        key=str(one.api_key or ""),
        problem=house.config.secrets.missing(one.api_key),
        thinking_enabled=one.thinking_enabled,
        reasoning_effort=one.reasoning_effort,
        models=list(one.models),
    )


def _found(one: Found) -> FoundView:
    key = one.settings.api_key
    return FoundView(
        id=one.id,
        type=one.settings.type,
        title=one.title,
        base_url=one.settings.base_url,
        env=key.env if key else "",
        origin=one.origin,
        models=[model.id for model in one.models],
    )
