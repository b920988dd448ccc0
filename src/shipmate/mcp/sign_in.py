"""Who is awaited back from signing in elsewhere; known without the SDK."""

import asyncio
from dataclasses import dataclass, field

from shipmate.errors import NotFoundError

SIGN_IN_S = 600.0
"""How long a person may take."""


def secret_name(server: str) -> str:
    """Under which name the tokens of a server are kept among the secrets."""
    return f"mcp-oauth-{server}"


@dataclass(slots=True)
class SignIns:
    callback: str = ""
    """Where a browser comes back to; empty: there is no page."""
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
        waiting = self._expected.get(state)
        if waiting is None or waiting.done():
            raise NotFoundError("Nobody waits for this sign-in (any more); start it again.")
        waiting.set_result((code, issuer))
