"""What the models of Anthropic and Gemini cost at their own providers: dollars per million tokens,
as published, as of October 2026. The configuration wins; a price in steps is that of the first."""

import re
from collections.abc import Mapping
from functools import cache

_FIELDS = ("input", "cached", "cache_write", "output")
_ANTHROPIC = (
    (r"claude-opus-5-5", (4, 0.2, 5, 20)),
    (r"claude-opus-(5|4-[5-9])", (5, 0.5, 6.25, 25)),
    (r"claude-opus-4", (15, 1.5, 18.75, 75)),
    (r"claude-sonnet-5-5", (2, 0.1, 2.5, 10)),
    (r"claude-sonnet-5", (2, 0.2, 2.5, 10)),
    (r"claude-(sonnet-4|3-7-sonnet)", (3, 0.3, 3.75, 15)),
    (r"claude-haiku-4-5", (1, 0.1, 1.25, 5)),
)
_GEMINI = (
    (r"gemini-3\.[678]-flash(-preview)?$", (1.5, 0.15, 1.5, 7.5)),
    (r"gemini-3\.5-flash-lite", (0.3, 0.03, 0.3, 2.5)),
    (r"gemini-3\.5-flash", (1.5, 0.15, 1.5, 9)),
    (r"gemini-3(\.1)?-pro-preview", (2, 0.2, 2, 12)),
    (r"gemini-2\.5-flash-lite$", (0.1, 0.01, 0.1, 0.4)),
    (r"gemini-2\.5-flash$", (0.3, 0.03, 0.3, 2.5)),
    (r"gemini-2\.5-pro$", (1.25, 0.125, 1.25, 10)),
)
_TABLES = {"anthropic": _ANTHROPIC, "gemini": _GEMINI}


@cache
def tariff(kind: str, model: str) -> Mapping[str, float]:
    """The price of a model at a type of provider; empty where it is not known."""
    for pattern, prices in _TABLES.get(kind, ()):
        if re.match(pattern, model):
            return dict(zip(_FIELDS, map(float, prices), strict=True))
    return {}
