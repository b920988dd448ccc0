"""What the models of Anthropic differ in: how thinking is set, and how long a reply may be.

From the documentation of the API, as of October 2026. A field that is refused all the same is put
aside (`llm.refusals`), a reply too long is lowered (`llm.lowering`).
"""

import re
from typing import Any

from shipmate.llm.answer import count

_BUDGETS = {"low": 2_048, "high": 16_384, "max": 32_768}
_ADAPTIVE = re.compile(
    r"claude-((opus|sonnet)-4-[6-9]|(opus|sonnet|fable|mythos)-[5-9]|haiku-5-[5-9]|haiku-[6-9]"
    r"|mythos-preview)"
)
"""They decide themselves how much to think."""
_BY_ITSELF = re.compile(r"claude-((opus|sonnet|fable|mythos)-[5-9]|haiku-5-5|mythos-preview)")
"""They think where nothing is set."""
_ALWAYS = re.compile(r"claude-(fable|mythos|opus-5-5)")
"""Thinking cannot be turned off."""
_BETWEEN = re.compile(r"claude-sonnet-5-5")
"""Turned off by another word."""
_BUDGETED = re.compile(r"claude-(3-7|opus-4|sonnet-4|haiku-4)")
_OUTPUTS = (
    (_ADAPTIVE, 64_000),
    (re.compile(r"claude-(opus|sonnet|haiku)-4-5"), 32_000),
    (re.compile(r"claude-3-[05]|claude-3-(opus|sonnet|haiku)"), 4_096),
)
_SHOWN = {"type": "adaptive", "display": "summarized"}


def output_of(model: str) -> int:
    """Tokens of a reply that are asked for where none are set: the API wants a number."""
    name = model.rsplit("/", 1)[-1]
    return next((most for pattern, most in _OUTPUTS if pattern.match(name)), 8_192)


def thinking_of(model: str, enabled: bool | None, effort: str | None) -> dict[str, Any]:
    """The fields that set thinking for a model; none where the provider's own default holds."""
    name = model.rsplit("/", 1)[-1]
    if enabled is None and effort is None:
        return {"thinking": _SHOWN} if _BY_ITSELF.match(name) else {}
    if enabled is False or effort == "off":
        return _off(name)
    if _ADAPTIVE.match(name):
        asked = {"output_config": {"effort": effort}} if effort else {}
        return {"thinking": _SHOWN, **asked}
    if _BUDGETED.match(name):
        return {"thinking": {"type": "enabled", "budget_tokens": _BUDGETS[effort or "high"]}}
    return {}


def _off(name: str) -> dict[str, Any]:
    if _ALWAYS.match(name):
        return {"output_config": {"effort": "low"}}
    if _BETWEEN.match(name):
        return {"thinking": {"type": "between_tools"}}
    return {"thinking": {"type": "disabled"}} if _ADAPTIVE.match(name) else {}


def budget_of(thinking: Any) -> int:
    """Tokens that a request gives for thinking; 0 where the model decides."""
    return count(thinking, "budget_tokens")


def fitted(thinking: Any, most: int) -> Any:
    """The thinking of a request for replies of `most` tokens: a budget is part of them. None where
    none fits."""
    if budget_of(thinking) < most:
        return thinking
    return {**thinking, "budget_tokens": most // 2} if most >= 2_048 else None
