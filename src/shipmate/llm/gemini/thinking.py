"""How thinking is set for the models of Gemini, by their generation."""

import re
from typing import Any

_LEVELS = {"low": "low", "high": "high", "max": "high"}
_BUDGETS = {"low": 1_024, "high": 8_192, "max": 24_576}
_OLD = re.compile(r"gemini-(1|2\.0)|gemma")
_BUDGETED = re.compile(r"gemini-2\.5")
_LEAST = 128
"""Tokens that a "pro" of the second generation thinks at least."""


def signs_calls(model: str) -> bool:
    """From the third generation on, calls without a signature are refused."""
    return not (_OLD.match(model) or _BUDGETED.match(model))


def thinking_of(model: str, enabled: bool | None, effort: str | None) -> dict[str, Any]:
    """The `thinkingConfig`; empty where the model does not think."""
    if _OLD.match(model):
        return {}
    off = enabled is False or effort == "off"
    shown = {"includeThoughts": not off}
    if _BUDGETED.match(model):
        if off:
            return {**shown, "thinkingBudget": _LEAST if "pro" in model else 0}
        return {**shown, **({"thinkingBudget": _BUDGETS[effort]} if effort else {})}
    if off:
        return {**shown, "thinkingLevel": "minimal" if "flash" in model else "low"}
    return {**shown, **({"thinkingLevel": _LEVELS[effort]} if effort else {})}
