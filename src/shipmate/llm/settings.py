"""The sections `[providers.*]` of the configuration."""

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from shipmate.errors import did_you_mean
from shipmate.llm.known import KNOWN
from shipmate.safety.secrets import SecretRef

ToolMode = Literal["native", "native+rescue", "schema"]
ToolListing = Literal["full", "compact"]

PROVIDER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""No `/`: the first one parts the provider from the model (readings, 34)."""


class Price(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Per million tokens, in whatever currency the provider bills."""

    input: Annotated[float, Meta(ge=0)] = 0.0
    cached: Annotated[float, Meta(ge=0)] | None = None
    """For the part of the prompt that the provider had cached; absent: as `input`."""
    cache_write: Annotated[float, Meta(ge=0)] | None = None
    """For the part that it put into its cache (Anthropic); absent: as `input`."""
    output: Annotated[float, Meta(ge=0)] = 0.0

    def as_mapping(self) -> dict[str, float]:
        cached = self.input if self.cached is None else self.cached
        written = {} if self.cache_write is None else {"cache_write": self.cache_write}
        return {"input": self.input, "cached": cached, "output": self.output, **written}


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`[[providers.NAME.models]]`: one model, and what is known better than the table."""

    id: Annotated[str, Meta(min_length=1)]
    title: str = ""
    context_length: Annotated[int, Meta(ge=1024)] | None = None
    max_output: Annotated[int, Meta(ge=1)] | None = None
    """Tokens of one reply; absent: the provider's own limit."""
    vision: bool | None = None
    thinking: bool | None = None
    tool_mode: ToolMode | None = None
    """How tool calls are asked for; absent: what fits the provider."""
    tool_listing: ToolListing = "full"
    price: Price | None = None


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`[providers.NAME]`: one model provider."""

    type: str = "openai"
    """A known type (`llm.known`); `openai` with a `base_url` is any compatible server."""
    title: str = ""
    base_url: str = ""
    """Ends before `/chat/completions`, `/messages` or `/models`; empty: that of the type."""
    api_key: SecretRef | None = None
    thinking_enabled: bool | None = None
    """Absent: as the provider does by itself."""
    reasoning_effort: Literal["off", "low", "high", "max"] | None = None
    extra_body: dict[str, Any] = {}
    """Fields added to each request, for what only this server knows."""
    models: tuple[ModelSettings, ...] = ()

    def __post_init__(self) -> None:
        if self.type not in KNOWN:
            raise ValueError(f"unknown type {self.type!r}{did_you_mean(self.type, KNOWN)}")
        if self.base_url:
            self._check_url()
        ids = [model.id for model in self.models]
        if twice := {i for i in ids if ids.count(i) > 1}:
            raise ValueError(f"models: {', '.join(sorted(twice))} is there twice")

    def _check_url(self) -> None:
        url = urlsplit(self.base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(
                f"base_url must be like https://host/v1, not {self.base_url.split('?')[0]!r}"
            )
        if url.username or url.password or url.query:
            raise ValueError("base_url must hold no key; put it into api_key")
