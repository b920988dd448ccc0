"""The real windows of models, as their providers tell them when a request did not fit."""

import re
from collections.abc import Iterator

LEAST = 512
"""A smaller number is not a window."""
_NAMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:maximum|max|model'?s?) context (?:length|window|size)(?: of the model)?"
        r"(?: is| of|:)?(?: only)? ([\d,_]+)",
        r"available context size \(?([\d,_]+)",
        r"n_ctx\W{1,4}([\d,_]+)",
        r"> ?([\d,_]+) ?(?:tokens )?maximum",
        r"should be \[\d+, ?([\d,_]+)\]",
        r"maximum number of (?:input )?tokens allowed \(?([\d,_]+)",
        r"(?:limit|maximum)(?: is| of|:) ([\d,_]+) ?(?:input )?tokens",
        r"maximum (?:prompt|input) length is ([\d,_]+)",
        r"context (?:length|window) (?:is|of) (?:only )?([\d,_]+)",
    )
)


def window_told(message: str) -> int:
    """The window that the words of a refusal name; 0 when they name none."""
    return max(_told(message), default=0)


def _told(message: str) -> Iterator[int]:
    if re.search(r"per[ -](minute|day|hour)", message, re.IGNORECASE):
        return  # a limit of the account
    for pattern in _NAMED:
        for found in pattern.finditer(message):
            number = int(re.sub(r"\D", "", found[1]) or 0)
            if number >= LEAST:
                yield number


class Windows:
    """Tokens of the models' windows that were learned since the start."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}

    def learn(self, model: str, message: str) -> bool:
        """Take in a refusal of the model `provider/model`; false when it names no window."""
        told = window_told(message)
        if told:
            self._told[model] = told
        return bool(told)

    def of(self, model: str, known: int) -> int:
        """The window of a model: what its provider told, else what is `known` of it."""
        return min(known, self._told.get(model, known))
