"""The models one can choose, and fetching the offline ones."""

from collections.abc import AsyncGenerator
from typing import Literal

import msgspec

from shipmate.handlers.fetches import Fetches, Stage
from shipmate.handlers.info import ProviderModels, by_provider
from shipmate.handlers.route import Answer, Call, Input, endpoint
from shipmate.handlers.stream import EventStream
from shipmate.llm.offline.catalogue import packaged
from shipmate.session.hub import Frame


class ModelsQuery(Input, frozen=True, kw_only=True):
    refresh: bool = False
    """Ask the providers' servers anew which models they have; takes up to ten seconds."""


class Models(msgspec.Struct, frozen=True):
    default_model: str
    providers: list[ProviderModels]


class Fetch(Input, frozen=True, kw_only=True):
    name: str
    """Of an offline model, without `offline/`."""


class FetchEvent(msgspec.Struct, frozen=True, tag_field="type", tag="fetch"):
    """How far the fetching of a model is."""

    name: str
    state: Literal["running", "checking", "ready", "failed", "cancelled"]
    done: int
    """Bytes, of `total`."""
    total: int
    error: str


@endpoint("GET", "/api/models", scope="read", query=ModelsQuery, answer=Models)
async def models(call: Call[ModelsQuery]) -> Answer:
    """Every model that can be chosen, by provider; or why it cannot."""
    if call.given.refresh:
        await call.house.providers.refresh()
    return Models(call.house.providers.default(), by_provider(call.house))


@endpoint("POST", "/api/models/fetch", scope="admin", body=Fetch, answer=FetchEvent, stream=True)
async def fetch_model(call: Call[Fetch]) -> Answer:
    """Fetch an offline model and follow it. It goes on when the client leaves; asked again, the
    one that runs is followed. The last event says `ready`, `failed` or `cancelled`."""
    house, name = call.house, call.given.name
    packaged(name)
    house.fetches.start(name)
    return EventStream(house.epoch, _told(house.fetches, name), house.ended)


@endpoint("POST", "/api/models/cancel", scope="admin", body=Fetch)
async def cancel_fetch(call: Call[Fetch]) -> None:
    """Stop fetching a model. What is there already is kept, and not fetched again."""
    packaged(call.given.name)
    await call.house.fetches.cancel(call.given.name)


async def _told(fetches: Fetches, name: str) -> AsyncGenerator[list[Frame]]:
    async for stage in fetches.follow(name):
        yield [_frame(name, stage)]


def _frame(name: str, stage: Stage) -> Frame:
    event = FetchEvent(name, stage.state, stage.done, stage.total, stage.error)
    return Frame("fetch", "", msgspec.json.encode(event))
