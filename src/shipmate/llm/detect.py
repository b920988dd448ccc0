"""What is there at the first run: keys in the environment, model servers on this machine."""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from shipmate.llm.known import KNOWN, KnownProvider
from shipmate.llm.model import ModelError
from shipmate.llm.probe import Offered, offered
from shipmate.llm.settings import ProviderSettings
from shipmate.safety.net import is_loopback
from shipmate.safety.secrets import SecretRef

PROBE_SECONDS = 0.8
"""A server on this machine that listens answers in milliseconds."""

LOCAL = {name: known for name, known in KNOWN.items() if known.local}


@dataclass(frozen=True, slots=True)
class Found:
    """A provider that could be used, ready to be written into the configuration."""

    id: str
    title: str
    settings: ProviderSettings
    """Without models: they are asked for while it runs."""
    origin: str
    """`OPENAI_API_KEY`, or the address of the server."""
    models: tuple[Offered, ...] = ()


def keys_found(environ: Mapping[str, str]) -> list[Found]:
    """The known providers whose key is in the environment, as references. An address beside the
    key (`OPENAI_BASE_URL`) is where that key belongs, so it is taken along."""
    found: list[Found] = []
    for name, known in KNOWN.items():
        variable = next((v for v in known.env if environ.get(v, "").strip()), "")
        if not variable:
            continue
        address = environ.get(variable.replace("_API_KEY", "_BASE_URL"), "").strip()
        key = SecretRef(env=variable)
        with contextlib.suppress(ValueError):  # no address: nobody can say where the key belongs
            settings = ProviderSettings(type=name, base_url=address, api_key=key)
            found.append(Found(name, known.title, settings, variable))
    return found


async def servers_found(
    addresses: Mapping[str, str] | None = None, *, wait: float = PROBE_SECONDS
) -> list[Found]:
    """The model servers that answer on loopback. `addresses`: provider type to base URL, where
    they are not the usual ones. One that has no model yet is given too, with none."""
    asked = {name: known.base_url for name, known in LOCAL.items()} | dict(addresses or {})
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_server(name, KNOWN[name], url, wait)) for name, url in asked.items()
        ]
    return [found for task in tasks if (found := task.result()) is not None]


async def detect(environ: Mapping[str, str]) -> list[Found]:
    """Everything found, keys first."""
    return [*keys_found(environ), *await servers_found(ollama_address(environ))]


def ollama_address(environ: Mapping[str, str]) -> dict[str, str]:
    """Where Ollama listens, if `OLLAMA_HOST` says so and it is on this machine: by its type. An
    address that stands for all (`0.0.0.0`) is reached on loopback."""
    value = environ.get("OLLAMA_HOST", "").strip().rstrip("/")
    if not value:
        return {}
    with contextlib.suppress(ValueError):  # no address: it is looked for at the usual one
        url = urlsplit(value if "://" in value else f"http://{value}")
        host = "127.0.0.1" if url.hostname in ("0.0.0.0", "::", None) else url.hostname  # noqa: S104 - read, not bound
        port = url.port or {"http": 80, "https": 443}.get(
            url.scheme if "://" in value else "", 11434
        )
        if is_loopback(host):
            shown = f"[{host}]" if ":" in host else host
            return {"ollama": f"{url.scheme}://{shown}:{port}/v1"}
    return {}


async def _server(name: str, known: KnownProvider, url: str, wait: float) -> Found | None:
    try:
        models = await offered(url, wait=wait)
    except ModelError:
        return None  # nobody there, or something else that uses the port
    usual = "" if url == known.base_url else url
    settings = ProviderSettings(type=name, base_url=usual)
    return Found(name, known.title, settings, url, tuple(models))
