"""The models that can be chosen, with what is known of each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from shipmate.llm.demo import DEMO_TITLE
from shipmate.llm.known import DEFAULT_CONTEXT, KNOWN, known_model
from shipmate.llm.model import ModelInfo
from shipmate.llm.offline.catalogue import MEGABYTE, cached, catalogue
from shipmate.llm.offline.process import CONTEXT, why_not
from shipmate.llm.probe import Offered
from shipmate.llm.scripted import DEMO
from shipmate.llm.settings import ModelSettings, ProviderSettings
from shipmate.llm.tariffs import tariff
from shipmate.safety.net import is_loopback


class ModelListing(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the model selector."""

    id: str
    """`provider/model`."""
    provider: str
    provider_title: str
    title: str
    context_length: int
    context_source: str
    """config, table, server, or default: nobody knows it, 128,000 is assumed."""
    vision: bool = False
    thinking: bool = False
    price: Mapping[str, float] = {}
    """Per million tokens: input, cached, output. Empty: not known."""
    available: bool = True
    reason: str = ""
    """Why it is not available, and what to do."""
    download_size: int = 0
    """Bytes to fetch before an offline model can be used; 0 when it is there."""


def provider_title(name: str, settings: ProviderSettings) -> str:
    known = KNOWN[settings.type]
    return settings.title or (known.title if name == settings.type else f"{known.title} ({name})")


def base_url_of(settings: ProviderSettings) -> str:
    """Where its API is. Anthropic's is named with and without its version; Gemini's was named as
    the one that speaks Chat Completions."""
    known = KNOWN[settings.type]
    url = (settings.base_url or known.base_url).rstrip("/")
    if known.dialect == "anthropic" and not re.search(r"/v\d+$", url):
        return f"{url}/v1"
    return url.removesuffix("/openai") if known.dialect == "gemini" else url


def is_local(settings: ProviderSettings) -> bool:
    """It runs on this machine, so it is likely a small model behind a simple server."""
    return is_loopback(urlsplit(base_url_of(settings)).hostname or "")


def tariffs_of(settings: ProviderSettings) -> str:
    """Whose prices hold: those of its type, where it is at that type's own address."""
    return "" if settings.base_url else settings.type


def settings_of(
    settings: ProviderSettings, live: Sequence[Offered] | None
) -> dict[str, ModelSettings]:
    """The provider's models: those configured, else what its server lists, else the usual ones."""
    if settings.models:
        return {model.id: model for model in settings.models}
    ids = [offered.id for offered in live] if live is not None else KNOWN[settings.type].models
    return {model: ModelSettings(id=model) for model in ids}


def info_of(
    provider: str, model: ModelSettings, offered: Offered | None, tariffs: str = ""
) -> ModelInfo:
    """What is known of a model: the configuration wins, then its server, then the table.
    `tariffs`: the type of provider whose prices hold."""
    known = known_model(model.id)
    length, source = DEFAULT_CONTEXT, "default"
    if model.context_length:
        length, source = model.context_length, "config"
    elif offered and offered.context_length:
        length, source = offered.context_length, "server"
    elif known:
        length, source = known.context_length, "table"
    sees, thinks = (known.vision, known.thinking) if known else (False, False)
    if offered and offered.vision is not None:
        sees = offered.vision
    return ModelInfo(
        f"{provider}/{model.id}",
        context_length=length,
        context_source=source,
        vision=sees if model.vision is None else model.vision,
        max_output=model.max_output or 0,
        thinking=thinks if model.thinking is None else model.thinking,
        price=model.price.as_mapping() if model.price else tariff(tariffs, model.id),
    )


def configured(
    name: str, settings: ProviderSettings, live: Sequence[Offered] | None, reason: str
) -> Iterator[ModelListing]:
    """The rows of one configured provider; `reason`: why it cannot be used. One that has no model
    still has a row, which tells why."""
    offered = {model.id: model for model in live or ()}
    models = settings_of(settings, live)
    if not models:
        yield ModelListing(
            id=f"{name}/",
            provider=name,
            provider_title=provider_title(name, settings),
            title="(no models)",
            context_length=DEFAULT_CONTEXT,
            context_source="default",
            available=False,
            reason=reason or "It lists no model. Load one there, or name one in the settings.",
        )
    for model in models.values():
        found = offered.get(model.id)
        info = info_of(name, model, found, tariffs_of(settings))
        yield ModelListing(
            id=info.id,
            provider=name,
            provider_title=provider_title(name, settings),
            title=model.title or (found.title if found else "") or model.id,
            context_length=info.context_length,
            context_source=info.context_source,
            vision=info.vision,
            thinking=info.thinking,
            price=info.price,
            available=not reason,
            reason=reason,
        )


def packaged_rows(folder: Path) -> Iterator[ModelListing]:
    """The offline models, downloaded or not."""
    for key, model in catalogue().items():
        if not model.listed:
            continue
        there = cached(folder, key) is not None
        size = 0 if there else model.download_size
        reason = why_not(key, folder)
        yield ModelListing(
            id=f"offline/{key}",
            provider="offline",
            provider_title=KNOWN["offline"].title,
            title=model.title if there else f"{model.title} ({size // MEGABYTE} MB to download)",
            context_length=min(model.ctx, CONTEXT),
            context_source="table",
            available=not reason,
            reason=reason,
            download_size=size,
        )


def demo_row() -> ModelListing:
    return ModelListing(
        id=DEMO.id,
        provider="scripted",
        provider_title=KNOWN["scripted"].title,
        title=DEMO_TITLE,
        context_length=DEMO.context_length,
        context_source=DEMO.context_source,
    )
