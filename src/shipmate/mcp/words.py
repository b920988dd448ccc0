"""What went wrong with a server, in words for a person."""

from typing import cast

import httpx2
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from shipmate.mcp import http

_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (httpx2.ConnectError, "The server cannot be reached. Is it running, is the address right?"),
    (httpx2.TimeoutException, "The server did not answer in time."),
    (TimeoutError, "The server did not answer in time."),
    (ValidationError, "What the server sent does not fit the protocol."),
)


def words_of(error: BaseException, refusals: http.Refusals | None = None) -> str:
    """What went wrong, for a person."""
    if isinstance(error, BaseExceptionGroup):
        return words_of(cast("BaseExceptionGroup[BaseException]", error).exceptions[0], refusals)
    match error:
        case MCPError():
            refused = f" (HTTP {refusals.last})" if refusals and refusals.last else ""
            return f"{error.error.message.strip() or 'an error without words'}{refused}"
        case httpx2.HTTPStatusError():
            return f"The server answered HTTP {error.response.status_code}."
        case OAuthFlowError():
            return f"Signing in failed: {error}"
        case _:
            known = (words for kind, words in _WORDS if isinstance(error, kind))
            return next(known, str(error) or type(error).__name__)
