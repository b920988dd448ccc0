"""The one place where an error becomes an HTTP answer."""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from shipmate.errors import ShipmateError
from shipmate.handlers.respond import json_answer
from shipmate.protocol import AnyBlock
from shipmate.safety.redaction import redacted

PROBLEM = "application/problem+json"
"""RFC 9457; `code` is a member of ours, and `type` is the default, `about:blank`."""


class HttpError(ShipmateError):
    """A request that is refused before any handler sees it."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


class OpenAIError(msgspec.Struct, frozen=True):
    message: str
    type: str
    code: str


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Every answer that is not a success."""

    code: str
    """A word that programs can compare: not_found, conflict, invalid, unauthorized, ..."""
    detail: str
    """What is wrong, where, and what to do, for a person."""
    block: AnyBlock | UnsetType = UNSET
    """With `conflict`: the block with the decision that stands."""
    error: OpenAIError | UnsetType = UNSET
    """Below `/v1/`: the same in the form that clients of Chat Completions read."""


def problem(error: ShipmateError, path: str = "") -> Response:
    """The answer to an expected failure. A conflict over a decided block carries that block."""
    answer = Problem(error.code, redacted(str(error)), getattr(error, "block", UNSET) or UNSET)
    if path.startswith("/v1/"):
        kind = "server_error" if error.status >= 500 else "invalid_request_error"
        told = OpenAIError(answer.detail, kind, answer.code)
        answer = msgspec.structs.replace(answer, error=told)
    headers: Mapping[str, str] | None = getattr(error, "headers", None)
    return json_answer(answer, status=error.status, headers=headers, kind=PROBLEM)
