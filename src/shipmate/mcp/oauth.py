"""Signing in to a server over HTTP: the SDK's OAuth, our secrets, our page to come back to."""

import asyncio
import time
from collections.abc import AsyncGenerator
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
from shipmate.mcp.asked import current
from shipmate.mcp.expansion import Resolved
from shipmate.mcp.foreign import as_list, as_object, as_text
from shipmate.mcp.server import Server
from shipmate.mcp.sign_in import SIGN_IN_S, RefusedError, client_metadata, secret_name
from shipmate.safety.secrets import SecretRef

_METADATA = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
_BASIC, _POST = "client_secret_basic", "client_secret_post"
_MORE = "{} wants you to sign in: on the page of MCP servers"


class _Kept(msgspec.Struct, omit_defaults=True):
    tokens: dict[str, object] = {}
    client: dict[str, object] = {}
    until: float = 0.0
    """When the token ends, seconds since 1970."""


@dataclass(slots=True)
class Storage:
    """Tokens and registration of one server, in the secrets of the data directory."""

    server: Server
    given: Resolved
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
        """The one that was registered by hand, else the one that registered itself."""
        if self.given.client_id:
            secret = self.given.client_secret
            return OAuthClientInformationFull(
                client_id=self.given.client_id,
                client_secret=secret or None,
                token_endpoint_auth_method=_BASIC if secret else "none",
                redirect_uris=None,
            )
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


class SigningIn(OAuthClientProvider):
    """The SDK's flow, with what older and stricter servers need.

    A server of revision 2025-03-26 that names no one who signs people in does so itself. The
    metadata at its origin may then name an issuer below that origin, which the SDK refuses: the
    origin stands for it, here and in what the browser brings back (`issuer`).
    """

    issuer = ""
    """What the metadata called itself, where the origin stands for it."""

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)
        try:
            asked = await anext(flow)
            while True:
                response = yield asked
                if asked is not request and response.status_code == 200:
                    response = await self._understood(asked, response)
                asked = await flow.asend(response)
        except StopAsyncIteration:
            return
        except OAuthFlowError as error:
            running = current.get()
            if running is None:
                raise
            # sent once more, it is refused once more: that ends this call, and not the connection
            running.refused = f"Signing in failed: {error}"
            yield request
        finally:
            await flow.aclose()

    async def _understood(
        self, asked: httpx2.Request, response: httpx2.Response
    ) -> httpx2.Response:
        """Metadata as the SDK can take it; any other answer as it is."""
        if not asked.url.path.startswith(_METADATA):
            return response
        try:
            found = as_object(msgspec.json.decode(await response.aread()))
        except msgspec.DecodeError:
            return response
        self._choose(as_list(found.get("token_endpoint_auth_methods_supported")))
        issuer, origin = as_text(found.get("issuer")), _origin(self.context.server_url)
        own = self.context.auth_server_url is None and _origin(str(asked.url)) == origin
        if not own or _origin(issuer) != origin or issuer.rstrip("/") == origin:
            return response
        self.issuer = issuer
        return httpx2.Response(200, json={**found, "issuer": origin}, request=asked)

    def _choose(self, methods: list[object]) -> None:
        """How the secret of a client that was registered by hand is sent: as is supported."""
        client = self.context.client_info
        asks_for_post = _BASIC not in methods and _POST in methods
        if asks_for_post and client and client.token_endpoint_auth_method == _BASIC:
            client.token_endpoint_auth_method = _POST


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@dataclass(slots=True)
class Person:
    """Who is sent away to sign in, and comes back: when the server connects, or, where it wants
    more rights, in the middle of a call, whose clock stands still meanwhile."""

    server: Server
    clock: asyncio.Timeout
    state: str = ""
    flow: SigningIn | None = None

    async def sent(self, url: str) -> None:
        server = self.server
        if not server.around.sign_ins.callback:
            raise OAuthFlowError("sign in on the page of a running server (shipmate serve) first")
        if server.live is None:
            self.clock.reschedule(None)
        self.state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        server.around.sign_ins.expect(self.state)
        server.sent_away = True
        server.set("sign_in")
        server.sign_in_url = url
        server.changed()

    async def back(self) -> AuthorizationCodeResult:
        server, sign_ins = self.server, self.server.around.sign_ins
        running = current.get()
        if running is not None:
            running.pause()
            if running.desk is not None:
                running.desk.progress(running.id, _MORE.format(server.name), 0, None)
        try:
            code, issuer = await asyncio.wait_for(sign_ins.expect(self.state), SIGN_IN_S)
        except TimeoutError:
            raise OAuthFlowError("nobody signed in; refresh the server to try again") from None
        except RefusedError as error:
            raise OAuthFlowError(f"{error} Refresh the server to try again.") from error
        finally:
            sign_ins.forget(self.state)
            if running is not None:
                running.go_on()
            server.set("ready" if server.live else "connecting")
        if server.live is None:
            self.clock.reschedule(asyncio.get_running_loop().time() + server.around.connect_s)
        if self.flow is not None and issuer and issuer == self.flow.issuer:
            issuer = _origin(issuer)
        return AuthorizationCodeResult(code=code, state=self.state, iss=issuer or None)


def signing_in(server: Server, given: Resolved, clock: asyncio.Timeout) -> httpx2.Auth | None:
    """How requests to a server are signed; None where no OAuth is wanted: a program, a header of
    the user's own, or a server that has not refused us yet."""
    own = any(name.lower() == "authorization" for name in given.headers)
    known = server.wants_sign_in or secret_name(server.name) in server.around.secrets.names()
    if server.settings.transport == "stdio" or own or not known:
        return None
    sign_ins = server.around.sign_ins
    metadata = client_metadata(sign_ins.callback or "http://127.0.0.1/mcp/callback")
    del metadata["token_endpoint_auth_method"]  # the SDK takes one that the server supports
    person = Person(server, clock)
    person.flow = SigningIn(
        given.url,
        OAuthClientMetadata.model_validate(metadata),
        Storage(server, given),
        person.sent,
        person.back,
        client_metadata_url=sign_ins.client_document() or None,
    )
    return person.flow
