"""Providers found at the first run, and what is wrong with one that does not answer."""

import asyncio
import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from shipmate.llm.detect import keys_found, servers_found
from shipmate.llm.known import KNOWN, known_model
from shipmate.llm.model import ModelError
from shipmate.llm.probe import Offered, offered
from tests.llm.servers import Answer, serving


def test_keys_in_the_environment_become_references() -> None:
    found = keys_found({"DEEPSEEK_API_KEY": "sk-canary", "GROQ_API_KEY": " ", "PATH": "/bin"})
    assert [(f.id, f.settings.type, str(f.settings.api_key)) for f in found] == [
        ("deepseek", "deepseek", "env:DEEPSEEK_API_KEY")
    ]
    assert "sk-canary" not in repr(found)


def test_a_key_is_never_sent_elsewhere_than_its_address_says() -> None:
    base = "https://proxy.example/v1"
    (found,) = keys_found({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": base})
    assert found.settings.base_url == base
    assert keys_found({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "nonsense"}) == []


def test_every_known_provider_can_be_reached_or_is_built_in() -> None:
    for name, known in KNOWN.items():
        assert known.base_url.startswith(("https://", "http://127.0.0.1:")) or name in (
            "offline",
            "scripted",
        )
        assert known.local == known.base_url.startswith("http:")


def test_the_docs_name_every_type_with_its_variables_and_address() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    for name, known in KNOWN.items():
        if known.base_url:
            variables = ", ".join(f"`{v}`" for v in known.env) or "none needed"
            assert f"| `{name}` | {variables} | {known.base_url} |" in docs


@pytest.mark.parametrize(
    ("model", "length", "vision"),
    [
        ("deepseek-chat", 128_000, False),
        ("deepseek-v4-pro", 1_000_000, False),
        ("openai/gpt-4o-2024-08-06", 128_000, True),
        ("gpt-4.1-mini", 1_047_576, True),
        ("gpt-4", 8_192, False),
        ("o3", 200_000, True),
        ("claude-sonnet-4-5", 200_000, True),
        ("claude-sonnet-4-6", 1_000_000, True),
        ("claude-opus-5-5", 1_000_000, True),
        ("models/gemini-3.8-flash", 1_048_576, True),
        ("moonshotai/kimi-k3", 1_048_576, True),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", 262_144, False),
        ("qwen2.5-coder:1.5b", 32_768, False),
        ("qwen2.5-coder:7b", 131_072, False),
    ],
)
def test_the_table_knows_models_as_providers_spell_them(
    model: str, length: int, vision: bool
) -> None:
    known = known_model(model)
    assert known is not None
    assert (known.context_length, known.vision) == (length, vision)


def test_the_table_claims_nothing_of_a_model_it_does_not_know() -> None:
    assert known_model("my-own-model") is None
    assert known_model("ollama3") is None


async def test_a_server_on_this_machine_is_found_with_its_models() -> None:
    models = {"data": [{"id": "qwen3:8b", "object": "model"}, {"no": "id"}, 5]}
    async with serving({"/v1/models": Answer(json.dumps(models).encode())}) as served:
        nobody = "http://127.0.0.1:9/v1"
        addresses = dict.fromkeys(("lmstudio", "llamacpp", "vllm", "jan"), nobody)
        found = await servers_found({**addresses, "ollama": f"{served.url}/v1"})
    assert [(f.id, [m.id for m in f.models]) for f in found] == [("ollama", ["qwen3:8b"])]
    assert found[0].settings.base_url == f"{served.url}/v1"


async def test_a_server_that_hangs_does_not_hold_up_the_others() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        start = time.monotonic()
        found = await servers_found(dict.fromkeys(list_of_local(), url), wait=0.5)
        assert found == []
        assert time.monotonic() - start < 2  # one after the other it would be 2.5 s


def list_of_local() -> list[str]:
    return [name for name, known in KNOWN.items() if known.local]


async def listed(body: bytes) -> list[Offered]:
    async with serving({"/models": Answer(body)}) as served:
        return await offered(served.url, "sk-1")


async def test_what_servers_say_of_their_models_is_read_in_each_of_their_ways() -> None:
    models: list[dict[str, Any]] = [
        {"id": "a", "context_length": 1000, "architecture": {"input_modalities": ["image"]}},
        {"id": "b", "max_model_len": 2000},
        {"id": "c", "meta": {"n_ctx": 3000, "n_ctx_train": 9}, "architecture": {}},
        {"id": "models/d", "context_window": 4000, "name": "The D"},
        {"id": "e", "context_length": "many", "architecture": 7, "meta": []},
    ]
    expected = [
        Offered("a", 1000, vision=True),
        Offered("b", 2000),
        Offered("c", 3000),
        Offered("d", 4000, title="The D"),
        Offered("e"),
    ]
    assert await listed(json.dumps({"data": models}).encode()) == expected
    assert await listed(json.dumps(models).encode()) == expected


async def test_the_key_is_sent_as_a_bearer_token() -> None:
    async with serving({"/models": Answer(b'{"data": []}')}) as served:
        await offered(served.url, "sk-1")
        assert "Authorization: Bearer sk-1" in served.heads[0]


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (Answer(b"{}", 401), "auth", "refuses the key (HTTP 401)"),
        (Answer(b"{}", 404), "provider", "usually ends in /v1"),
        (Answer(b"{}", 429), "rate_limit", "HTTP 429"),
        (Answer(b"oops", 500), "provider", "HTTP 500"),
        (Answer(b"<html>", kind="text/html"), "provider", "a web page"),
        (Answer(b"<!DOCTYPE html>"), "provider", "a web page"),
        (Answer(b'{"hello": 1}'), "provider", "gives no list of models"),
        (Answer(b"garbage"), "provider", "gives no list of models"),
        (
            Answer(b"", 302, headers={"Location": "https://x.example/?token=t"}),
            "provider",
            "points to another address; use that one: https://x.example/",
        ),
    ],
)
async def test_what_is_wrong_is_said_in_words(answer: Answer, kind: str, said: str) -> None:
    async with serving({"/models": answer}) as served:
        with pytest.raises(ModelError) as caught:
            await offered(served.url, "sk-1")
    assert said in str(caught.value)
    assert caught.value.kind == kind
    assert "sk-1" not in str(caught.value)
    assert "token=t" not in str(caught.value)


async def test_a_server_that_is_not_there_or_does_not_answer_is_told() -> None:
    with pytest.raises(ModelError, match="is the server running") as caught:
        await offered("http://127.0.0.1:9/v1")
    assert caught.value.kind == "unreachable"
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(ModelError, match="did not answer within"):
            await offered(f"http://127.0.0.1:{silent.getsockname()[1]}", wait=0.2)


async def test_a_server_that_speaks_no_http_is_told() -> None:
    async def handle(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-x\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ModelError, match="speaks no HTTP"):
            await offered(f"http://127.0.0.1:{port}")
