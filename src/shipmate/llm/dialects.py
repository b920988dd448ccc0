"""How the settings of a provider become its requests: thinking, and the way tools are called."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from shipmate.llm.connections import Connections
from shipmate.llm.known import KNOWN
from shipmate.llm.listing import is_local
from shipmate.llm.lowering import LoweringModel
from shipmate.llm.model import ChatMessage, Model, ModelInfo, StreamItem, ToolSpec
from shipmate.llm.openai import PATIENT, Endpoint, Limits, OpenAIModel
from shipmate.llm.rescue import RescueModel
from shipmate.llm.retry import RetryingModel
from shipmate.llm.schema import SchemaModel, summary
from shipmate.llm.settings import ModelSettings, ProviderSettings, ToolMode
from shipmate.llm.windows import Windows


def endpoint_of(title: str, base_url: str, settings: ProviderSettings, api_key: str) -> Endpoint:
    """Where the provider is, and the fields each request to it carries."""
    replays = KNOWN[settings.type].thinking in ("deepseek", "zhipu")
    return Endpoint(
        title,
        base_url,
        api_key,
        extra={**thinking_fields(settings), **settings.extra_body},
        replay_reasoning="calls" if replays else "never",
        limits=PATIENT if is_local(settings) else Limits(),
    )


def thinking_fields(settings: ProviderSettings) -> dict[str, Any]:
    """The fields that set thinking, as this type of provider spells them; none where nothing is
    set, so that the provider's own default holds."""
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


def in_mode(
    info: ModelInfo,
    end: Endpoint,
    model: ModelSettings,
    connections: Connections,
    windows: Windows,
    *,
    local: bool,
) -> Model:
    """The model, asked for tool calls in the way that is set, else in the one that fits: native;
    on this machine with rescue, and by schema once calls had to be rescued twice."""

    def constrained(fields: Mapping[str, Any]) -> Model:
        def plain(limit: Mapping[str, int]) -> Model:
            with_fields = replace(end, extra={**end.extra, **limit, **fields})
            return OpenAIModel(info, with_fields, connections)

        most = model.max_output
        if most is None:
            return RetryingModel(plain({}))
        lowering = LoweringModel(lambda most: plain({"max_tokens": most}), most, windows)
        return RetryingModel(lowering)

    mode: ToolMode = model.tool_mode or ("native+rescue" if local else "native")
    native = constrained({})
    if model.tool_listing == "compact":
        native = CompactModel(native)
    match mode:
        case "native":
            return native
        case "native+rescue":
            instead = SchemaModel(constrained, model.tool_listing) if local else None
            return RescueModel(native, instead)
        case "schema":
            return SchemaModel(constrained, model.tool_listing)


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
