"""What servers on this machine tell of their models: windows, sight, and a place for tools."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shipmate.llm.detect import ollama_address
from shipmate.llm.model import Model, ModelInfo
from shipmate.llm.rescue import RescueModel
from shipmate.llm.schema import SchemaModel
from shipmate.llm.settings import ModelSettings, ProviderSettings
from tests.llm.servers import Answer, serving
from tests.llm.test_providers import providers

LOADED = {"name": "m", "context_length": 4096}
TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"
WITH_TOOLS = TEMPLATE + "{% if tools %}{{ tools | tojson }}{% endif %}"


def answers(**paths: Mapping[str, Any]) -> dict[str, Answer]:
    """By path, with `_` for `/`."""
    return {
        "/" + path.replace("_", "/"): Answer(json.dumps(body).encode())
        for path, body in paths.items()
    }


async def told(
    folder: Path, kind: str, served: dict[str, Answer], **fields: Any
) -> tuple[ModelInfo, Model]:
    """What is known of the model `m` of such a server, and the model that was made of it."""
    models = {"/v1/models": Answer(json.dumps({"data": [{"id": "m"}]}).encode())}
    async with serving({**models, **served}) as at:
        base = {"p": ProviderSettings(type=kind, base_url=f"{at.url}/v1", **fields)}
        house = providers(folder, base)
        await house.refresh("p")
        model = house.model("p/m")
        await house.close()
    return model.info, model


@pytest.mark.parametrize(
    ("show", "running", "window", "sees", "mode"),
    [
        ({"parameters": "stop 1\nnum_ctx          8192"}, [], 8192, False, RescueModel),
        ({"capabilities": ["completion", "tools", "vision"]}, [], 128_000, True, RescueModel),
        ({"capabilities": ["completion"]}, [], 128_000, False, SchemaModel),
        ({"parameters": "num_ctx 8192"}, [LOADED], 4096, False, RescueModel),
    ],
)  # fmt: skip
async def test_ollama(
    tmp_path: Path,
    show: Mapping[str, Any],
    running: list[Mapping[str, Any]],
    window: int,
    sees: bool,
    mode: type,
) -> None:
    served = answers(api_show=show, api_ps={"models": running})
    info, model = await told(tmp_path, "ollama", served)
    assert (info.context_length, info.vision, type(model)) == (window, sees, mode)


async def test_lm_studio(tmp_path: Path) -> None:
    loaded = {"id": "m", "type": "vlm", "loaded_context_length": 4096, "max_context_length": 32768}
    info, _ = await told(tmp_path, "lmstudio", answers(api_v0_models={"data": [loaded]}))
    assert (info.context_length, info.context_source, info.vision) == (4096, "server", True)


@pytest.mark.parametrize("kind", ["llamacpp", "openai"])
@pytest.mark.parametrize(("template", "mode"), [(TEMPLATE, SchemaModel), (WITH_TOOLS, RescueModel)])
async def test_llama_cpp(tmp_path: Path, kind: str, template: str, mode: type) -> None:
    props = {"default_generation_settings": {"n_ctx": 6144}, "chat_template": template}
    info, model = await told(tmp_path, kind, answers(props=props))
    assert info.context_length == 6144
    assert type(model) is mode


async def test_what_is_set_wins(tmp_path: Path) -> None:
    props = {"default_generation_settings": {"n_ctx": 6144}, "chat_template": TEMPLATE}
    model = ModelSettings(id="m", context_length=5000, tool_mode="native+rescue")
    info, made = await told(tmp_path, "llamacpp", answers(props=props), models=(model,))
    assert info.context_length == 5000
    assert isinstance(made, RescueModel)


@pytest.mark.parametrize("kind", ["ollama", "lmstudio", "llamacpp", "openai"])
@pytest.mark.parametrize("body", [b"", b"[]", b'{"models":5,"data":{}}', b"<html>"])
async def test_a_server_that_tells_nonsense_is_used_as_it_is(
    tmp_path: Path, kind: str, body: bytes
) -> None:
    paths = ("/api/show", "/api/ps", "/api/v0/models", "/props")
    info, _ = await told(tmp_path, kind, dict.fromkeys(paths, Answer(body)))
    assert (info.context_length, info.context_source) == (128_000, "default")


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("", None),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://localhost:11435/", "http://localhost:11435/v1"),
        (":9999", "http://127.0.0.1:9999/v1"),
        ("https://127.0.0.1", "https://127.0.0.1:443/v1"),
        ("[::1]:7", "http://[::1]:7/v1"),
        ("gpu.example.org", None),
        ("http://[", None),
        ("127.0.0.1:99999", None),
    ],
)
def test_the_address_of_ollama_is_read(value: str, address: str | None) -> None:
    assert ollama_address({"OLLAMA_HOST": value}).get("ollama") == address
