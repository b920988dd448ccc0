"""Errors a person is meant to read. Anything else that is raised is a bug.

A message says what is wrong, where, and what to do about it.
"""


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
