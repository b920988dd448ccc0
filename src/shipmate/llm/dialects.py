"""How the settings of a provider become its requests: thinking, and the way tools are called."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec

from shipmate.llm.anthropic import thinking as anthropic
from shipmate.llm.anthropic.wire import MessagesWire
from shipmate.llm.connections import Connections
from shipmate.llm.endpoint import PATIENT, Endpoint, Limits
from shipmate.llm.gemini import thinking as gemini
from shipmate.llm.gemini.wire import GeminiWire
from shipmate.llm.known import KNOWN, known_model
from shipmate.llm.listing import is_local
from shipmate.llm.lowering import LoweringModel
from shipmate.llm.model import ChatMessage, Model, ModelInfo, StreamItem, ToolSpec
from shipmate.llm.openai import OpenAIModel
from shipmate.llm.refusals import RENAMED, YieldingModel
from shipmate.llm.rescue import RescueModel
from shipmate.llm.retry import RetryingModel
from shipmate.llm.schema import SchemaModel, summary
from shipmate.llm.settings import ModelSettings, ProviderSettings, ToolMode
from shipmate.llm.windows import Refused, Windows
from shipmate.llm.wire import WireModel


def endpoint_of(
    title: str, base_url: str, settings: ProviderSettings, api_key: str, model: str = ""
) -> Endpoint:
    """Where the provider is, and the fields each request to its `model` carries."""
    replays = KNOWN[settings.type].thinking in ("deepseek", "zhipu")
    return Endpoint(
        title,
        base_url,
        api_key,
        extra={**thinking_fields(settings, model), **settings.extra_body},
        replay_reasoning="calls" if replays else "never",
        limits=PATIENT if is_local(settings) else Limits(),
    )


def thinking_fields(settings: ProviderSettings, model: str = "") -> dict[str, Any]:
    """The fields that set thinking, as this type of provider spells them; none where nothing is
    set, so that the provider's own default holds."""
    enabled, effort = settings.thinking_enabled, settings.reasoning_effort
    match KNOWN[settings.type].dialect:
        case "anthropic":
            return anthropic.thinking_of(model, enabled, effort)
        case "gemini":
            known = known_model(model)
            thinks = known is not None and known.thinking
            config = gemini.thinking_of(model, enabled, effort) if thinks else {}
            return {"thinkingConfig": config} if config else {}
        case _:
            return _chat_fields(settings)


def _chat_fields(settings: ProviderSettings) -> dict[str, Any]:
    enabled, effort = settings.thinking_enabled, settings.reasoning_effort
    if enabled is None and effort is None:
        return {}
    on = enabled is not False and effort != "off"
    match KNOWN[settings.type].thinking:
        case "deepseek":
            toggle = {"thinking": {"type": "enabled" if on else "disabled"}}
            return {**toggle, "reasoning_effort": effort or "high"} if on else toggle
        case "effort":
            strength = {None: "high", "max": "high"}.get(effort, effort)
            return {"reasoning_effort": strength if on else "none"}
        case "zhipu":
            return {"thinking": {"type": "enabled" if on else "disabled"}}
        case "qwen":
            return {"enable_thinking": on}
        case _:
            return {}


@dataclass(frozen=True, slots=True)
class Requests:
    """Makes a model whose requests have fields added: asked again where that may help, for
    shorter replies and without fields where those are refused."""

    info: ModelInfo
    end: Endpoint
    connections: Connections
    windows: Windows
    local: bool
    """It runs on this machine."""
    dialect: str = "chat"

    def __call__(self, fields: Mapping[str, Any]) -> Model:
        most = self.info.max_output or self._usual()
        if not most:
            return RetryingModel(self._yielding(fields, {}))

        def limited(most: int) -> Model:
            return self._yielding(fields, {"max_tokens": most})

        return RetryingModel(LoweringModel(limited, most, self.windows))

    def _yielding(self, fields: Mapping[str, Any], limit: Mapping[str, int]) -> Model:
        wanted = {**self.end.extra, **limit, **fields}

        def without(refused: Refused) -> Model:
            sent = allowed(wanted, refused.fields)
            return self._speaking(replace(self.end, extra=sent))

        setting = msgspec.json.encode({**self.end.extra, **limit}, order="sorted").decode()
        return YieldingModel(
            self.info,
            without,
            tuple(wanted),
            setting,
            self.windows,
            can_do_without=not self.local,
        )

    def _usual(self) -> int:
        """How long a reply is asked for where nothing is set; 0: that need not be said."""
        if self.dialect != "anthropic":
            return 0
        _, _, model = self.info.id.partition("/")
        thinking = anthropic.budget_of(self.end.extra.get("thinking"))
        return max(anthropic.output_of(model), thinking and thinking + 4_096)

    def _speaking(self, end: Endpoint) -> Model:
        match self.dialect:
            case "anthropic":
                return WireModel(self.info, end, self.connections, MessagesWire(self.info, end))
            case "gemini":
                return WireModel(self.info, end, self.connections, GeminiWire(self.info, end))
            case _:
                return OpenAIModel(self.info, end, self.connections)


def in_mode(asked: Requests, model: ModelSettings, *, takes_tools: bool | None = None) -> Model:
    """The model, asked for tool calls in the way that is set, else in the one that fits: native;
    on this machine with rescue, and by schema once calls had to be rescued twice, or at once
    where its server says that it takes no tools."""
    fitting: ToolMode = "schema" if takes_tools is False else "native+rescue"
    mode: ToolMode = model.tool_mode or (fitting if asked.local else "native")
    native = asked({})
    if model.tool_listing == "compact":
        native = CompactModel(native)
    match mode:
        case "native":
            return native
        case "native+rescue":
            instead = SchemaModel(asked, model.tool_listing) if asked.local else None
            return RescueModel(native, instead)
        case "schema":
            return SchemaModel(asked, model.tool_listing)


def allowed(fields: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """The fields without those refused; what another name was given for is sent under that."""
    sent = {name: value for name, value in fields.items() if name not in refused}
    for old, new in RENAMED.items():
        if old in fields and new in refused:
            sent[new] = fields[old]
    return sent


class CompactModel:
    """Sends each tool with the first sentence of its description, and its parameters without
    theirs: a fifth of the prompt that tools otherwise take."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._seen: tuple[tuple[ToolSpec, ...], tuple[ToolSpec, ...]] = ((), ())
        """The tools of the last request, and what was sent for them: the same objects again."""

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        if self._seen[0] != tuple(tools):
            self._seen = (tuple(tools), tuple(compact(tool) for tool in tools))
        async with aclosing(self._model.stream(messages, self._seen[1])) as items:
            async for item in items:
                yield item


def compact(tool: ToolSpec) -> ToolSpec:
    parameters = cast("dict[str, Any]", _undescribed(tool.parameters))
    return replace(tool, description=summary(tool), parameters=parameters)


def _undescribed(schema: Any) -> Any:
    """A JSON schema without descriptions; a property that is called so stays."""
    if isinstance(schema, list):
        return [_undescribed(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    pairs = cast("Mapping[str, Any]", schema).items()
    return {
        key: {name: _undescribed(inner) for name, inner in value.items()}
        if key == "properties"
        else _undescribed(value)
        for key, value in pairs
        if key != "description"
    }
