"""Asks a server which models it has, and says in plain words what is wrong with it if it fails."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from shipmate.llm.model import ModelError
from shipmate.safety.net import is_loopback

MOST = 8 << 20
"""Bytes of a list of models; the largest public one has about one million."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A model as its server lists it; 0 and None mean that it does not say."""

    id: str
    context_length: int = 0
    vision: bool | None = None
    title: str = ""
    tools: bool | None = None
    """Whether its template has a place for tools."""


class _Architecture(msgspec.Struct):
    input_modalities: list[str] | None = None


class _Meta(msgspec.Struct):
    n_ctx: int | None = None


class _Model(msgspec.Struct):
    id: str
    name: Any = None
    context_length: Any = None
    """OpenRouter, Together, Fireworks."""
    context_window: Any = None
    """Groq."""
    max_model_len: Any = None
    """vLLM."""
    max_context_length: Any = None
    """Mistral."""
    architecture: Any = None
    meta: Any = None
    """llama.cpp."""

    display_name: Any = None
    max_input_tokens: Any = None
    """Anthropic."""


class _Models(msgspec.Struct):
    data: list[Any]


class _GeminiModel(msgspec.Struct, rename="camel"):
    name: str
    display_name: str = ""
    input_token_limit: int = 0
    supported_generation_methods: list[str] = []


class _GeminiModels(msgspec.Struct):
    models: list[_GeminiModel]


_LISTS = {"anthropic": "/models?limit=1000", "gemini": "/models?pageSize=1000"}


async def offered(
    base_url: str, api_key: str = "", *, wait: float = 10.0, dialect: str = "chat"
) -> list[Offered]:
    """The models of the server at `base_url`, or a `ModelError` a person can act on."""
    url = base_url.rstrip("/") + _LISTS.get(dialect, "/models")
    body = await ask_server(url, api_key, wait, dialect=dialect)
    if dialect == "gemini":
        return _of_gemini(base_url, body)
    try:
        listed = msgspec.json.decode(body, type=_Models).data
    except msgspec.DecodeError:
        # together.xyz gives the bare list
        try:
            listed = msgspec.json.decode(body, type=list[Any])
        except msgspec.DecodeError:
            raise ModelError(_no_list(base_url, body)) from None
    return [model for item in listed if (model := _offered(item)) is not None]


async def check_key(url: str, api_key: str, *, wait: float = 10.0) -> None:
    """Ask an address that answers to a right key only."""
    await ask_server(url, api_key, wait)


async def ask_server(
    url: str, api_key: str, wait: float, body: bytes | None = None, *, dialect: str = "chat"
) -> bytes:
    """What the server answers to GET, or to POST with a `body` of JSON; else a `ModelError`."""
    import aiohttp  # slow to import, and not needed before the first request

    place = urlsplit(url)
    where = f"{place.hostname}:{place.port}" if place.port else str(place.hostname)
    headers = _signed_in(api_key, dialect)
    local = is_loopback(place.hostname or "")
    try:
        async with (
            asyncio.timeout(wait),
            aiohttp.ClientSession(trust_env=not local) as session,
            session.request(
                "GET" if body is None else "POST",
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
            ) as answer,
        ):
            found = await answer.content.read(MOST)
            while len(found) < MOST and (more := await answer.content.read(MOST)):
                found += more
            status, kind = answer.status, answer.content_type
            target = answer.headers.get("Location", "")
    except TimeoutError:
        raise ModelError(
            f"{where} did not answer within {wait:g} seconds.", kind="unreachable"
        ) from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise ModelError(_unreachable(where, error), kind="unreachable") from None
    if status != 200:
        raise _refused(where, status, target)
    if kind == "text/html" or found[:64].lstrip().lower().startswith((b"<!doctype", b"<html")):
        raise ModelError(
            f"{where} answers with a web page, not as a model server. "
            "The address of the API usually ends in /v1."
        )
    return found


def _unreachable(where: str, error: Exception) -> str:
    import aiohttp  # slow to import, and not needed before the first request

    match error:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            reason = "the secure connection failed; is its address http instead of https?"
        case aiohttp.ClientConnectorDNSError():
            reason = "there is no such host; check the address."
        case aiohttp.ClientConnectorError():
            reason = "nothing answers there; is the server running?"
        case aiohttp.InvalidURL():
            reason = "that is no address."
        case _:
            reason = "the connection broke off, or it speaks no HTTP."
    return f"{where} cannot be reached: {reason}"


def _refused(where: str, status: int, target: str) -> ModelError:
    if status in (401, 403):
        text = f"{where} refuses the key (HTTP {status}). Check it, or make a new one there."
        return ModelError(text, kind="auth")
    if status == 404:
        text = f"{where} has no list of models there (HTTP 404). The address usually ends in /v1."
        return ModelError(text)
    if status == 429:
        text = f"{where} says that there were too many requests, or no credit is left (HTTP 429)."
        return ModelError(text, kind="rate_limit")
    if 300 <= status < 400:
        text = f"{where} points to another address; use that one: {target.partition('?')[0]}"
        return ModelError(text)
    return ModelError(f"{where} answered with HTTP {status}.", kind="provider")


def _no_list(base_url: str, body: bytes) -> str:
    start = body[:60].decode("utf-8", "replace").strip()
    return f"{base_url} gives no list of models; it begins with {start!r}."


def _offered(item: Any) -> Offered | None:
    try:
        model = msgspec.convert(item, _Model)
    except msgspec.ValidationError:
        return None
    return Offered(
        id=model.id.removeprefix("models/"),  # Gemini
        context_length=_context(model),
        vision=_vision(model),
        title=next((n for n in (model.name, model.display_name) if isinstance(n, str)), ""),
    )


def _of_gemini(base_url: str, body: bytes) -> list[Offered]:
    """Those that talk."""
    try:
        listed = msgspec.json.decode(body, type=_GeminiModels).models
    except msgspec.DecodeError:
        raise ModelError(_no_list(base_url, body)) from None
    return [
        Offered(one.name.removeprefix("models/"), one.input_token_limit, title=one.display_name)
        for one in listed
        if "generateContent" in one.supported_generation_methods
    ]


def _signed_in(api_key: str, dialect: str) -> dict[str, str]:
    """The headers that a key is sent with."""
    match dialect:
        case "anthropic":
            return {"anthropic-version": "2023-06-01"} | ({"x-api-key": api_key} if api_key else {})
        case "gemini":
            return {"x-goog-api-key": api_key} if api_key else {}
        case _:
            return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def _context(model: _Model) -> int:
    lengths = [
        model.context_length,
        model.context_window,
        model.max_model_len,
        model.max_context_length,
        model.max_input_tokens,
    ]
    with contextlib.suppress(msgspec.ValidationError):
        lengths.insert(0, msgspec.convert(model.meta, _Meta).n_ctx)
    return next((n for n in lengths if isinstance(n, int) and n > 0), 0)


def _vision(model: _Model) -> bool | None:
    try:
        modalities = msgspec.convert(model.architecture, _Architecture).input_modalities
    except msgspec.ValidationError:
        return None
    return None if modalities is None else "image" in modalities
