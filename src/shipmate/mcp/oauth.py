"""Signing in to a server over HTTP: the SDK's OAuth, our secrets, our page to come back to."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from shipmate.errors import ConfigError
from shipmate.mcp.expansion import Resolved
from shipmate.mcp.server import Server
from shipmate.mcp.sign_in import SIGN_IN_S, secret_name
from shipmate.safety.secrets import SecretRef


class _Kept(msgspec.Struct, omit_defaults=True):
    tokens: dict[str, object] = {}
    client: dict[str, object] = {}
    until: float = 0.0
    """When the token ends, seconds since 1970."""


@dataclass(slots=True)
class Storage:
    """Tokens and registration of one server, in the secrets of the data directory."""

    server: Server
    _kept: _Kept | None = field(default=None)

    async def get_tokens(self) -> OAuthToken | None:
        kept = await self._read()
        if not kept.tokens:
            return None
        left = int(kept.until - time.time()) if kept.until else None
        return OAuthToken.model_validate({**kept.tokens, "expires_in": left})

    async def set_tokens(self, tokens: OAuthToken) -> None:
        kept = await self._read()
        kept.tokens = tokens.model_dump(mode="json", exclude_none=True)
        kept.until = time.time() + tokens.expires_in if tokens.expires_in else 0.0
        await self._write(kept)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        kept = await self._read()
        return OAuthClientInformationFull.model_validate(kept.client) if kept.client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        kept = await self._read()
        kept.client = client_info.model_dump(mode="json", exclude_none=True)
        await self._write(kept)

    async def _read(self) -> _Kept:
        if self._kept is None:
            ref = SecretRef(secret=secret_name(self.server.name))
            try:
                text = await asyncio.to_thread(self.server.around.secrets.resolve, ref)
                self._kept = msgspec.json.decode(text, type=_Kept)
            except (ConfigError, msgspec.DecodeError):
                self._kept = _Kept()
        return self._kept

    async def _write(self, kept: _Kept) -> None:
        text = msgspec.json.encode(kept).decode()
        name = secret_name(self.server.name)
        await asyncio.to_thread(self.server.around.secrets.store, name, text)


def signing_in(server: Server, given: Resolved, clock: asyncio.Timeout) -> httpx2.Auth | None:
    """How requests to a server are signed; None where no OAuth is wanted: a program, a header of
    the user's own, or a server that has not refused us yet."""
    own = any(name.lower() == "authorization" for name in given.headers)
    known = server.wants_sign_in or secret_name(server.name) in server.around.secrets.names()
    if server.settings.transport == "stdio" or own or not known:
        return None
    callback = server.around.sign_ins.callback
    state: list[str] = []

    async def redirect(url: str) -> None:
        if not callback:
            raise OAuthFlowError("sign in on the page of a running server (shipmate serve) first")
        clock.reschedule(None)
        state[:] = parse_qs(urlsplit(url).query).get("state", [""])
        server.around.sign_ins.expect(state[0])
        server.set("sign_in")
        server.sign_in_url = url
        server.changed()

    async def back() -> AuthorizationCodeResult:
        with contextlib.ExitStack() as stack:
            stack.callback(server.around.sign_ins.forget, state[0])
            try:
                code, iss = await asyncio.wait_for(
                    server.around.sign_ins.expect(state[0]), SIGN_IN_S
                )
            except TimeoutError:
                raise OAuthFlowError("nobody signed in; refresh the server to try again") from None
        server.set("connecting")
        clock.reschedule(asyncio.get_running_loop().time() + server.around.connect_s)
        return AuthorizationCodeResult(code=code, state=state[0], iss=iss or None)

    metadata = OAuthClientMetadata.model_validate(
        {
            "redirect_uris": [callback or "http://127.0.0.1/api/mcp/callback"],
            "client_name": "shipmate",
        }
    )
    return OAuthClientProvider(given.url, metadata, Storage(server), redirect, back)
