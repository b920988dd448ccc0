"""Errors a person is meant to read. Anything else that is raised is a bug.

A message says what is wrong, where, and what to do about it.
"""

import difflib
from collections.abc import Iterable
from typing import ClassVar


class ShipmateError(Exception):
    """Base of every expected failure; `handlers.errors` turns it into an HTTP answer."""

    status = 400
    code = "bad_request"


class NotFoundError(ShipmateError):
    status = 404
    code = "not_found"


class ConflictError(ShipmateError):
    """The session is not in a state in which this can be done."""

    status = 409
    code = "conflict"


class ConfigError(ShipmateError):
    """A setting is wrong; the message names its place and what would be right."""

    code = "config"


class StorageError(ShipmateError):
    """What was to be kept could not be written: disk full, database locked or damaged."""

    status = 503
    code = "storage"
    headers: ClassVar = {"Retry-After": "5"}
    """Of the HTTP answer: it can pass by itself."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean x?`, or the known ones when none is near and they are few."""
    choices = list(known)
    near = difflib.get_close_matches(word.lower(), choices, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; known: {', '.join(choices)}" if 0 < len(choices) <= 12 else ""
