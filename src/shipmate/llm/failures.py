"""What a provider says when it fails, as an error a person can act on."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

import msgspec

from shipmate.llm.model import ErrorKind, ModelError, Reply

WORDS_LIMIT = 500
"""Characters of the provider's own words that are shown."""
_TOO_LONG = re.compile(
    r"context.{0,3}(length|window|size)|maximum context|input.{0,12}length.{0,12}(exceed|should be)"
    r"|(prompt|input|request).{0,20}too (long|large)|too many tokens"
    r"|token count.{0,20}exceeds|exceeds? the (available )?context|reduce the length"
    r"|exceed context limit",
    re.IGNORECASE,
)
_REPLY_TOO_LONG = re.compile(
    r"max(imum)?[_ ](completion[_ ]|output[_ ]|new[_ ])?tokens\W{0,3}[^.]{0,60}"
    r"(too (large|high|big)|valid range|less than or equal|maximum allowed)",
    re.IGNORECASE,
)
"""The reply that was asked for is too long, not what was sent."""
_CUT = re.compile(r"no user (query|message) found", re.IGNORECASE)
"""Said by a server that has cut off the beginning of what it was sent (SES-13)."""
RAISE_CONTEXT = (
    "For Ollama set OLLAMA_CONTEXT_LENGTH (or num_ctx in the Modelfile), for llama.cpp `-c`, "
    "for LM Studio the context length of the loaded model."
)
_QUOTA = re.compile(
    r"insufficient.{0,3}(quota|balance|credit|funds)|quota.{0,12}(exceeded|exhausted)"
    r"|exceeded your current quota|billing_(hard_limit|not_active)|payment required|out of credit"
    r"|credit balance is too low",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api[ _]key (not valid|invalid|expired)|API_KEY_INVALID", re.IGNORECASE)
"""Said by Gemini with a status of 400."""
_OWN_FAULT = re.compile(r"overloaded|server_error|api_error|\bINTERNAL\b|UNAVAILABLE")
_AGAIN_IN = re.compile(r"(?:retry|try again) in ([\d.]+) ?(ms|s)\b", re.IGNORECASE)
"""Some name the time to wait in words: a limit that passes, whatever else they call it."""
_ADVICE: dict[ErrorKind, str] = {
    "auth": "Check the API key of {provider} in the settings, under Models.",
    "quota": "Check the balance and the limits of your account there; this does not pass by "
    "itself.",
    "rate_limit": "It limits how often it is asked; try again in a while.",
    "overloaded": "It has a problem of its own; try again in a while.",
    "too_long": "The conversation does not fit the model: compact it, or choose a model with a "
    "longer context.",
}


@dataclass(frozen=True, slots=True)
class _Said:
    words: str
    code: str = ""
    status: int | None = None


def failure_of(
    said: Any,
    provider: str,
    *,
    status: int | None = None,
    retry_after: float | None = None,
    partial: Reply | None = None,
) -> ModelError:
    """The error for what a provider `said`: the value under `error`, or a whole body.

    `provider` is its name as the user knows it; `status` that of the HTTP answer, None inside
    an answer that began well.
    """
    heard = _hear(said)
    kind = _kind(status or heard.status, heard)
    if kind in ("rate_limit", "overloaded") and retry_after is None:
        retry_after = _again_in(heard.words)
    number = f" ({status})" if status else ""
    words = heard.words[:WORDS_LIMIT].strip() or "no reason given"
    advice = _advice(kind, heard).format(provider=provider)
    message = f"{provider} refused the request{number}: {_sentence(words)}"
    if kind in ("overloaded", "provider"):
        message = f"{provider} failed{number}: {_sentence(words)}"
    return ModelError(
        f"{message} {advice}".strip(),
        kind=kind,
        partial=partial,
        retry_after=retry_after,
        reply_too_long=kind == "refused" and bool(_REPLY_TOO_LONG.search(heard.words)),
    )


def _advice(kind: ErrorKind, heard: _Said) -> str:
    if kind == "too_long" and _CUT.search(heard.words):
        return (
            "Probably the server has cut off the beginning of the conversation, because it runs "
            f"with a smaller context than the model has. {RAISE_CONTEXT}"
        )
    if _REPLY_TOO_LONG.search(f"{heard.code} {heard.words}"):
        return "Lower max_output of this model in the settings."
    return _ADVICE.get(kind, "")


def failure_of_body(
    body: bytes, provider: str, status: int, headers: Mapping[str, str]
) -> ModelError:
    """The error for an HTTP answer whose status is not 200."""
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        said = _plain(body.decode(errors="replace"))
    if isinstance(said, dict):
        given = cast("dict[str, Any]", said)
        said = given.get("error") or given
    after = retry_after(headers.get("Retry-After", ""))
    return failure_of(said, provider, status=status, retry_after=after)


def retry_after(value: str) -> float | None:
    """Seconds to wait by a `Retry-After` header: a number or a date; None when it says nothing
    sensible."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def without_key(text: str, key: str) -> str:
    """`text` with the API key blacked out, also where a provider quotes its beginning."""
    if len(key) < 8:
        return text
    start = re.escape(key[:8])
    return re.sub(rf"{start}[\w*.\-…]*", "[key]", text.replace(key, "[key]"))


def _hear(said: Any) -> _Said:
    if isinstance(said, list) and said:
        return _hear(cast("list[Any]", said)[0])
    if isinstance(said, dict):
        given = cast("dict[str, Any]", said)
        inner = given.get("error")
        if isinstance(inner, dict | str):
            return _hear(inner)
        words = given.get("message") or given.get("detail") or given.get("msg") or ""
        code = " ".join(str(given.get(name) or "") for name in ("code", "type", "status"))
        status = re.search(r"\b[45]\d\d\b", code)
        shown = words if isinstance(words, str) else msgspec.json.encode(words).decode()
        if isinstance(window := given.get("n_ctx"), int):
            shown = f"{shown} (n_ctx: {window})".strip()
        return _Said(shown or code.strip(), code, int(status[0]) if status else None)
    return _Said(said if isinstance(said, str) else msgspec.json.encode(said).decode())


def _kind(status: int | None, heard: _Said) -> ErrorKind:
    said = f"{heard.code} {heard.words}"
    if _REPLY_TOO_LONG.search(said):
        return "refused"
    passes = "insufficient_quota" not in said and _AGAIN_IN.search(said)
    if status == 402 or (_QUOTA.search(said) and not passes):
        return "quota"
    if status in (401, 403) or _BAD_KEY.search(said):
        return "auth"
    if status == 413 or _CUT.search(said):
        return "too_long"
    if status in (None, 400, 422, 500) and _TOO_LONG.search(said):
        return "too_long"
    return _kind_of_status(status, said)


def _kind_of_status(status: int | None, said: str) -> ErrorKind:
    if status == 429 or (status is None and "rate_limit" in said):
        return "rate_limit"
    if status is None:
        return "overloaded" if _OWN_FAULT.search(said) else "provider"
    if status >= 500 or status == 408:
        return "overloaded"
    return "refused"


def _again_in(words: str) -> float | None:
    found = _AGAIN_IN.search(words)
    if not found or found[1].count(".") > 1:
        return None
    return float(found[1].rstrip(".") or 0) / (1000 if found[2].lower() == "ms" else 1)


def _plain(text: str) -> str:
    """The words of a page: a proxy's HTML without its tags."""
    if "<" in text:
        text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."
