"""The model providers that are set up: which models there are, and one by its name."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shipmate.errors import NotFoundError, ShipmateError, did_you_mean
from shipmate.llm.connections import Connections
from shipmate.llm.demo import DemoModel
from shipmate.llm.dialects import Requests, endpoint_of, in_mode
from shipmate.llm.known import BUILT_IN, KNOWN
from shipmate.llm.listing import (
    ModelListing,
    base_url_of,
    configured,
    demo_row,
    info_of,
    is_local,
    packaged_rows,
    provider_title,
    settings_of,
    tariffs_of,
)
from shipmate.llm.local import looked_closer
from shipmate.llm.model import Model, ModelError
from shipmate.llm.offline.catalogue import packaged
from shipmate.llm.offline.process import OfflineServer
from shipmate.llm.offline.served import offline_model
from shipmate.llm.probe import Offered, check_key, offered
from shipmate.llm.scripted import DEMO
from shipmate.llm.settings import ModelSettings, ProviderSettings
from shipmate.llm.windows import Windows
from shipmate.safety.secrets import Secrets


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """What the test button tells."""

    ok: bool
    detail: str
    models: tuple[str, ...] = ()


@dataclass(slots=True)
class _Made:
    """A model that was handed out, and the settings it was made of."""

    settings: ProviderSettings
    live: tuple[Offered, ...] | None
    model: Model


class Providers:
    """Made once. What is set is looked up each time, so a change takes effect at the next step."""

    def __init__(
        self,
        settings: Callable[[], Mapping[str, ProviderSettings]],
        secrets: Secrets,
        models_folder: Path,
        connections: Connections | None = None,
        windows: Windows | None = None,
    ) -> None:
        self.models_folder = models_folder
        """Where offline models are kept (`<data>/models`)."""
        self.connections = connections or Connections()
        self.windows = windows or Windows()
        self._settings = settings
        self._secrets = secrets
        self._live: dict[str, tuple[Offered, ...]] = {}
        """What a provider's server listed, by provider id."""
        self._failed: dict[str, str] = {}
        """Why a provider on this machine did not answer."""
        self._made: dict[str, _Made] = {}
        self._servers: dict[str, OfflineServer] = {}

    def models(self) -> list[ModelListing]:
        """Every model that can be chosen, or why not: those set up, the offline ones, the demo."""
        rows: list[ModelListing] = []
        for name, settings in self._settings().items():
            reason = self._secrets.missing(settings.api_key) or self._failed.get(name, "")
            rows += configured(name, settings, self._live.get(name), reason)
        return [*rows, *packaged_rows(self.models_folder), demo_row()]

    def default(self) -> str:
        """The model for a new session when none was chosen: the first that is available."""
        return next(row.id for row in self.models() if row.available)

    def model(self, name: str) -> Model:
        """The model named `provider/model`; the same object as long as its settings are the same.
        `NotFoundError` says what there is, `ConfigError` which key is missing."""
        provider, _, model = name.partition("/")
        if not model:
            raise NotFoundError(f"A model is named provider/model, not {name!r}.")
        if provider in BUILT_IN and provider not in self._settings():
            return self._built_in(provider, model)
        settings = self._settings().get(provider)
        if settings is None:
            known = [*self._settings(), *BUILT_IN]
            raise NotFoundError(
                f"There is no model provider {provider!r}{did_you_mean(provider, known)}"
                " (one is set up on the page under Settings, Models, or in config.toml)"
            )
        made, live = self._made.get(name), self._live.get(provider)
        if made is None or made.settings != settings or made.live != live:
            built = self._build(provider, settings, model, live)
            made = self._made[name] = _Made(settings, live, built)
        return made.model

    async def refresh(self, provider: str = "", *, wait: float = 10.0) -> None:
        """Ask the servers which models they have: of one provider, or of all that have none
        configured. What fails is told in the list."""
        names = [provider] if provider else [n for n, s in self._settings().items() if not s.models]
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(self._ask(name, wait))

    async def test(self, settings: ProviderSettings, key: str | None = None) -> Tested:
        """Whether it can be reached with this key (else with its own reference)."""
        known = KNOWN[settings.type]
        base = base_url_of(settings)
        if not base:
            return Tested(ok=True, detail=f"{known.title} needs no connection.")
        try:
            api_key = key.strip() if key is not None else self._key(settings)
            if known.key_path:
                await check_key(base.rstrip("/") + known.key_path, api_key)
            models = await offered(base, api_key, dialect=known.dialect)
        except ShipmateError as error:
            return Tested(ok=False, detail=str(error))
        if not models:
            return Tested(ok=False, detail="It answers, but has no model yet; load one there.")
        return Tested(
            ok=True,
            detail=f"It answers; {len(models)} model{'s' * (len(models) > 1)}.",
            models=tuple(model.id for model in models),
        )

    async def close(self) -> None:
        """End what was started, and close the connections."""
        for server in self._servers.values():
            await server.close()
        await self.connections.close()

    async def _ask(self, name: str, wait: float) -> None:
        settings = self._settings().get(name)
        if settings is None or not base_url_of(settings):
            return
        try:
            base, dialect = base_url_of(settings), KNOWN[settings.type].dialect
            models = await offered(base, self._key(settings), wait=wait, dialect=dialect)
            if is_local(settings):
                models = await looked_closer(settings.type, base, models, wait)
        except ShipmateError as error:
            if is_local(settings) or (isinstance(error, ModelError) and error.kind == "auth"):
                self._failed[name] = str(error)
            return
        self._failed.pop(name, None)
        self._live[name] = tuple(models)

    def _key(self, settings: ProviderSettings) -> str:
        return self._secrets.resolve(settings.api_key) if settings.api_key else ""

    def _built_in(self, provider: str, model: str) -> Model:
        if provider == "scripted":
            if model != DEMO.id.partition("/")[2]:
                raise NotFoundError(f"There is no scripted model {model!r}; there is {DEMO.id}.")
            return DemoModel()
        packaged(model)
        name = f"offline/{model}"
        if name not in self._made:
            server = self._servers[model] = OfflineServer(model, self.models_folder)
            self._made[name] = _Made(
                ProviderSettings(type="offline"), None, offline_model(server, self.connections)
            )
        return self._made[name].model

    def _build(
        self,
        provider: str,
        settings: ProviderSettings,
        model: str,
        live: tuple[Offered, ...] | None,
    ) -> Model:
        known = settings_of(settings, live)
        if settings.models and model not in known:
            raise NotFoundError(
                f"The provider {provider} has no model {model!r}{did_you_mean(model, known)}"
            )
        wanted = known.get(model) or ModelSettings(id=model)
        found = next((one for one in live or () if one.id == model), None)
        title, base, key = (
            provider_title(provider, settings),
            base_url_of(settings),
            self._key(settings),
        )
        end = endpoint_of(title, base, settings, key, model)
        info = info_of(provider, wanted, found, tariffs_of(settings))
        dialect = KNOWN[settings.type].dialect
        asked = Requests(info, end, self.connections, self.windows, is_local(settings), dialect)
        return in_mode(asked, wanted, takes_tools=found.tools if found else None)
