"""Takes secrets out of text that leaves: logs, exports, the audit log.

Every value that was resolved or stored since the start is known; keys of well-known services are
recognised by their shape.
"""

import logging
import re

GONE = "[secret]"
SHORTEST = 8
"""Shorter values would be found in ordinary words."""
SHAPES = re.compile(
    r"""\bsk-[\w-]{16,}|\bsm_[\w-]{20,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}
    |\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bhf_\w{20,}
    |\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}|\#token=[\w-]{20,}
    |-----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----[^-]*(?:-----END\ [A-Z\ ]*PRIVATE\ KEY-----)?""",
    re.VERBOSE,
)

_known: set[str] = set()


def known(value: str) -> None:
    """Remember a secret, so that it is recognised."""
    if len(value) >= SHORTEST:
        _known.add(value)


def redacted(text: str) -> str:
    """The text without secrets."""
    for value in sorted(_known, key=len, reverse=True):
        text = text.replace(value, GONE)
    return SHAPES.sub(GONE, text)


class Redacting(logging.Formatter):
    """Log lines without secrets, their tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
