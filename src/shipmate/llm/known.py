"""What is known beforehand: types of model providers, and the sizes of well-known models.

Addresses and sizes are those the providers publish (collected at models.dev), as of October 2026.
A server's own list and the configuration both win over this table.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

DEFAULT_CONTEXT = 128_000
"""For a model nobody knows (readings, 21)."""


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """One type of provider."""

    title: str
    base_url: str = ""
    env: tuple[str, ...] = ()
    """Environment variables that hold its key, the usual one first."""
    local: bool = False
    """A server on this machine: no key, found by asking `base_url`."""
    models: tuple[str, ...] = ()
    """Offered until the provider's own list has been read."""
    key_path: str = ""
    """Where a key is checked, when `/models` answers without one."""
    thinking: Literal["", "deepseek", "effort", "zhipu", "qwen"] = ""
    """Which fields of Chat Completions switch thinking on and off; empty: none are sent."""
    dialect: Literal["chat", "anthropic", "gemini", "adapter"] = "chat"
    """Chat Completions, or an own one; `adapter`: what pydantic-ai speaks."""


KNOWN: dict[str, KnownProvider] = {
    "openai": KnownProvider(
        "OpenAI",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        models=("gpt-5.6", "gpt-6-astra"),
        thinking="effort",
    ),
    "deepseek": KnownProvider(
        "DeepSeek",
        "https://api.deepseek.com",
        ("DEEPSEEK_API_KEY",),
        models=("deepseek-flash", "deepseek-v4-pro"),
        thinking="deepseek",
    ),
    "anthropic": KnownProvider(
        "Anthropic",
        "https://api.anthropic.com/v1",
        ("ANTHROPIC_API_KEY",),
        models=("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"),
        dialect="anthropic",
    ),
    "gemini": KnownProvider(
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        models=("gemini-3.8-flash",),
        dialect="gemini",
    ),
    "openrouter": KnownProvider(
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        key_path="/key",
        thinking="effort",
    ),
    "groq": KnownProvider("Groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "mistral": KnownProvider(
        "Mistral",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        models=("mistral-large-latest", "mistral-medium-latest"),
    ),
    "xai": KnownProvider(
        "xAI", "https://api.x.ai/v1", ("XAI_API_KEY",), models=("grok-4.7",), thinking="effort"
    ),
    "moonshot": KnownProvider(
        "Moonshot (Kimi)",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        models=("kimi-k3",),
        thinking="zhipu",
    ),
    "zhipu": KnownProvider(
        "Zhipu (GLM)",
        "https://open.bigmodel.cn/api/paas/v4",
        ("ZHIPUAI_API_KEY", "ZHIPU_API_KEY", "BIGMODEL_API_KEY"),
        models=("glm-5.2",),
        thinking="zhipu",
    ),
    "zai": KnownProvider(
        "Z.ai (GLM)",
        "https://api.z.ai/api/paas/v4",
        ("ZAI_API_KEY", "Z_AI_API_KEY"),
        models=("glm-5.2",),
        thinking="zhipu",
    ),
    "dashscope": KnownProvider(
        "DashScope (Qwen)",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY",),
        models=("qwen3.7-max", "qwen3.7-flash"),
        thinking="qwen",
    ),
    "siliconflow": KnownProvider(
        "SiliconFlow", "https://api.siliconflow.cn/v1", ("SILICONFLOW_API_KEY",), thinking="qwen"
    ),
    "together": KnownProvider(
        "Together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY", "TOGETHERAI_API_KEY")
    ),
    "fireworks": KnownProvider(
        "Fireworks", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)
    ),
    "cerebras": KnownProvider("Cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "ollama": KnownProvider("Ollama", "http://127.0.0.1:11434/v1", local=True),
    "lmstudio": KnownProvider("LM Studio", "http://127.0.0.1:1234/v1", local=True),
    "llamacpp": KnownProvider("llama.cpp", "http://127.0.0.1:8080/v1", local=True),
    "vllm": KnownProvider("vLLM", "http://127.0.0.1:8000/v1", local=True),
    "jan": KnownProvider("Jan", "http://127.0.0.1:1337/v1", local=True),
    "offline": KnownProvider("Offline model"),
    "scripted": KnownProvider("Scripted demo"),
}

BUILT_IN = ("scripted", "offline")
"""Provider ids that are there without being configured."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    context_length: int
    vision: bool = False
    thinking: bool = False


_M = 1_048_576
_TABLE: tuple[tuple[str, KnownModel], ...] = (
    (r"gpt-6", KnownModel(1_050_000, True, True)),
    (r"gpt-5\.[4-9]", KnownModel(1_050_000, True, True)),
    (r"gpt-5.*-chat", KnownModel(128_000, True)),
    (r"gpt-5", KnownModel(400_000, True, True)),
    (r"gpt-4\.1", KnownModel(1_047_576, True)),
    (r"gpt-4o|gpt-4-turbo|chatgpt-4o", KnownModel(128_000, True)),
    (r"gpt-4", KnownModel(8_192)),
    (r"gpt-3\.5", KnownModel(16_385)),
    (r"gpt-oss", KnownModel(131_072, thinking=True)),
    (r"o1-mini|o1-preview", KnownModel(128_000, thinking=True)),
    (r"o3-mini", KnownModel(200_000, thinking=True)),
    (r"o[134](-|$)", KnownModel(200_000, True, True)),
    (r"claude-3-[05]|claude-3-(opus|sonnet|haiku)", KnownModel(200_000, True)),
    (r"claude-(opus|sonnet)-(4[.-][6-9]|[5-9])", KnownModel(1_000_000, True, True)),
    (r"claude", KnownModel(200_000, True, True)),
    (r"gemini-(1|2\.0)", KnownModel(_M, True)),
    (r"gemini", KnownModel(_M, True, True)),
    (r"gemma-?[34]", KnownModel(131_072, True)),
    (r"deepseek-flash", KnownModel(1_000_000, True, True)),
    (r"deepseek-v[4-9]", KnownModel(1_000_000, thinking=True)),
    (r"deepseek-(reasoner|r1)", KnownModel(128_000, thinking=True)),
    (r"deepseek-(chat|v3)", KnownModel(128_000)),
    (r"kimi-k3", KnownModel(_M, True, True)),
    (r"kimi-k2\.[5-9]", KnownModel(262_144, True, True)),
    (r"kimi-k2-thinking", KnownModel(262_144, thinking=True)),
    (r"kimi-k2-0711", KnownModel(131_072)),
    (r"kimi", KnownModel(262_144)),
    (r"moonshot-v1-8k", KnownModel(8_192)),
    (r"moonshot-v1-32k", KnownModel(32_768)),
    (r"glm-5\.[2-9]", KnownModel(1_000_000, thinking=True)),
    (r"glm-5v|glm-4\.6v", KnownModel(131_072, True, True)),
    (r"glm-(5|4\.[67])", KnownModel(204_800, thinking=True)),
    (r"glm-4\.5v", KnownModel(64_000, True, True)),
    (r"glm-4\.5", KnownModel(131_072, thinking=True)),
    (r"grok-4\.[5-9]", KnownModel(500_000, True, True)),
    (r"grok-4(-1)?-fast|grok-4\.20", KnownModel(2_000_000, True, True)),
    (r"grok-4", KnownModel(256_000, True, True)),
    (r"grok", KnownModel(131_072)),
    (r"qwen3\.[5-9]-max", KnownModel(262_144, thinking=True)),
    (r"qwen3\.[5-9]", KnownModel(262_144, True, True)),
    (r"qwen3-coder", KnownModel(262_144)),
    (r"qwen3-max", KnownModel(262_144)),
    (r"qwen3?-vl", KnownModel(131_072, True)),
    (r"qwen3", KnownModel(131_072, thinking=True)),
    (r"qwen2\.5-coder[-:](0\.5|1\.5|3)b", KnownModel(32_768)),
    (r"qwen2\.5", KnownModel(131_072)),
    (r"qwen-(plus|flash)", KnownModel(1_000_000)),
    (r"devstral|codestral|mistral-large-[34]", KnownModel(256_000)),
    (r"magistral", KnownModel(131_072, True, True)),
    (r"mi(ni)?stral|pixtral", KnownModel(131_072, True)),
    (r"llama-?4", KnownModel(_M, True)),
    (r"llama-?3\.[123]", KnownModel(131_072)),
    (r"phi-?4", KnownModel(16_384)),
    (r"smollm2", KnownModel(8_192)),
)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], KnownModel], ...]:
    """Compiled when first asked for: 4 ms of the start."""
    return tuple((re.compile(pattern), known) for pattern, known in _TABLE)


@cache
def known_model(model: str) -> KnownModel | None:
    """The table's row for a model as a provider spells it (`vendor/name:tag` included)."""
    name = model.rsplit("/", 1)[-1].lower()
    return next((known for pattern, known in _patterns() if pattern.match(name)), None)
