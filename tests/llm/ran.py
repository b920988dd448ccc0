"""What `./dev test --providers` runs, and what stands there for the providers."""

from collections.abc import Mapping

STRICT = "a strict provider over HTTP, byte-exact replies"
BYTES = "recorded bytes, cut at every place"
SEA = "a DeepSeek that answers 400 where the real one does"
SCRIPT = "scripted models that fail as named"
LOCAL = "HTTP answers of Ollama, LM Studio, llama.cpp"
SIGNING = "an Anthropic and a Gemini that answer 400 where the real ones do"
THREE = "three strict providers over HTTP: Chat Completions, Anthropic, Gemini"
RAN: dict[str, str] = {
    "tests/llm/test_reader.py": BYTES,
    "tests/llm/test_sse.py": BYTES,
    "tests/llm/test_reader_dialects.py": "the reported streams as Anthropic and Gemini send them",
    "tests/llm/test_openai.py": THREE,
    "tests/llm/test_encoding.py": "the rules that strict providers have",
    "tests/llm/test_every_model.py": f"{THREE}; the contract of every mode",
    "tests/llm/test_retry.py": SCRIPT,
    "tests/llm/test_too_long.py": "the refusals of twelve services, word for word",
    "tests/llm/test_refusals.py": STRICT,
    "tests/llm/test_providers.py": "HTTP answers of servers",
    "tests/llm/test_signing_providers.py": SIGNING,
    "tests/llm/test_local.py": LOCAL,
    "tests/llm/test_detect.py": LOCAL,
    "tests/llm/test_rescue.py": "calls as small models wrote them",
    "tests/llm/test_schema.py": STRICT,
    "tests/llm/test_smollm2.py": "SmolLM2-135M on llama.cpp, a real model",
    "tests/agent/test_context.py": "the reported histories, checked by the rules",
    "tests/agent/test_context_dialects.py": "the same, by the rules of Anthropic and Gemini",
    "tests/session/test_deepseek.py": SEA,
    "tests/session/test_signed.py": SIGNING,
    "tests/session/test_fallback.py": SCRIPT,
}


def lines(passed: Mapping[str, int], failed: Mapping[str, int]) -> list[str]:
    """The table: tests that passed and failed by file, against what."""
    shown = [file for file in RAN if passed.get(file) or failed.get(file)]
    width = max((len(file) for file in shown), default=0)
    rows = [
        f"{file:<{width}}  {passed.get(file, 0):>5} passed  {failed.get(file, 0):>3} failed  "
        f"{RAN[file]}"
        for file in shown
    ]
    return [*rows, f"{sum(passed.get(file, 0) for file in shown)} passed in all"]
