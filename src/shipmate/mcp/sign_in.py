"""Who is awaited back from signing in elsewhere; known without the SDK."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from shipmate.errors import NotFoundError, ShipmateError

SIGN_IN_S = 600.0
"""How long a person may take."""


def secret_name(server: str) -> str:
    """Under which name the tokens of a server are kept among the secrets."""
    return f"mcp-oauth-{server}"


class RefusedError(ShipmateError):
    """The person, or who signs people in, said no."""

    status = 403
    code = "sign_in"


@dataclass(slots=True)
class SignIns:
    callback: str = ""
    """Where a browser comes back to; empty: there is no page."""
    client_document: Callable[[], str] = lambda: ""
    """The address of our client id metadata document; empty: there is none."""
    _expected: dict[str, asyncio.Future[tuple[str, str]]] = field(
        default_factory=dict[str, asyncio.Future[tuple[str, str]]]
    )
    """By the `state` that only the browser that was sent away knows."""

    def expect(self, state: str) -> asyncio.Future[tuple[str, str]]:
        """Has the code and the issuer when the browser is back."""
        return self._expected.setdefault(state, asyncio.get_running_loop().create_future())

    def forget(self, state: str) -> None:
        self._expected.pop(state, None)

    def back(self, state: str, code: str, issuer: str) -> None:
        self._waiting(state).set_result((code, issuer))

    def refused(self, state: str, why: str) -> None:
        """The browser is back without a code."""
        self._waiting(state).set_exception(RefusedError(why))

    def _waiting(self, state: str) -> asyncio.Future[tuple[str, str]]:
        waiting = self._expected.get(state)
        if waiting is None or waiting.done():
            raise NotFoundError(
                "Nobody waits for this sign-in: it took too long, was done already, or shipmate "
                "was started anew meanwhile. Begin again on the page of MCP servers."
            )
        return waiting


def client_metadata(callback: str) -> dict[str, object]:
    """What shipmate says of itself as an OAuth client."""
    return {
        "client_name": "shipmate",
        "redirect_uris": [callback],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
