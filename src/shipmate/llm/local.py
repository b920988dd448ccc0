"""What servers on this machine tell of their models beside the common list: the window a model is
served with, and whether its template has a place for tools.

Ollama: `/api/ps` has the window of a loaded model, `/api/show` what its Modelfile sets and what it
can. LM Studio: `/api/v0/models`. llama.cpp: `/props`, with the template itself.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

import msgspec

from shipmate.llm.model import ModelError
from shipmate.llm.probe import Offered, ask_server

MOST_ASKED = 40
"""Models of one server that are asked about one by one."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)
T = TypeVar("T")


class _Show(msgspec.Struct):
    parameters: str = ""
    capabilities: list[str] | None = None


class _Loaded(msgspec.Struct):
    name: str = ""
    model: str = ""
    context_length: int = 0


class _Running(msgspec.Struct):
    models: list[_Loaded] = []


class _StudioModel(msgspec.Struct):
    id: str = ""
    type: str = ""
    loaded_context_length: int = 0
    max_context_length: int = 0


class _Studio(msgspec.Struct):
    data: list[_StudioModel] = []


class _Generation(msgspec.Struct):
    n_ctx: int = 0


class _Modalities(msgspec.Struct):
    vision: bool = False


class _Props(msgspec.Struct):
    default_generation_settings: _Generation = msgspec.field(default_factory=_Generation)
    chat_template: str = ""
    modalities: _Modalities | None = None


async def looked_closer(
    kind: str, base_url: str, models: Sequence[Offered], wait: float
) -> list[Offered]:
    """The models, with what a server of this `kind` (a type of provider) tells of them; as they
    are where it tells nothing."""
    place = urlsplit(base_url)
    root = urlunsplit((place.scheme, place.netloc, place.path.removesuffix("/v1"), "", ""))
    match kind:
        case "ollama":
            return await _ollama(root, models, wait)
        case "lmstudio":
            return await _studio(root, models, wait)
        case "llamacpp" | "openai":
            return await _llamacpp(root, models, wait)
        case _:
            return list(models)


async def _told(url: str, kind: type[T], wait: float, body: bytes | None = None) -> T | None:
    """The answer; None from a server that has none."""
    try:
        return msgspec.json.decode(await ask_server(url, "", wait, body), type=kind)
    except (ModelError, msgspec.DecodeError):
        return None


async def _ollama(root: str, models: Sequence[Offered], wait: float) -> list[Offered]:
    running = await _told(f"{root}/api/ps", _Running, wait) or _Running()
    loaded = {one.name or one.model: one.context_length for one in running.models}

    async def shown(model: Offered) -> Offered:
        body = msgspec.json.encode({"model": model.id})
        show = await _told(f"{root}/api/show", _Show, wait, body)
        if show is None:
            return model
        set_to = _NUM_CTX.search(show.parameters)
        window = loaded.get(model.id, 0) or (int(set_to[1]) if set_to else 0)
        can = show.capabilities
        return replace(
            model,
            context_length=window or model.context_length,
            vision=model.vision if can is None else "vision" in can,
            tools=None if can is None else "tools" in can,
        )

    asked = await asyncio.gather(*(shown(model) for model in models[:MOST_ASKED]))
    return [*asked, *models[MOST_ASKED:]]


async def _studio(root: str, models: Sequence[Offered], wait: float) -> list[Offered]:
    listed = await _told(f"{root}/api/v0/models", _Studio, wait) or _Studio()
    known = {one.id: one for one in listed.data}

    def closer(model: Offered) -> Offered:
        one = known.get(model.id)
        if one is None:
            return model
        window = one.loaded_context_length or one.max_context_length or model.context_length
        return replace(model, context_length=window, vision=one.type == "vlm")

    return [closer(m) for m in models if m.id not in known or known[m.id].type != "embeddings"]


async def _llamacpp(root: str, models: Sequence[Offered], wait: float) -> list[Offered]:
    if len(models) != 1:  # a router, or another server: its properties are of no one model
        return list(models)
    props = await _told(f"{root}/props", _Props, wait)
    if props is None or not props.default_generation_settings.n_ctx:
        return list(models)
    template = props.chat_template
    return [
        replace(
            models[0],
            context_length=props.default_generation_settings.n_ctx,
            vision=models[0].vision if props.modalities is None else props.modalities.vision,
            tools="tools" in template if template else None,
        )
    ]
