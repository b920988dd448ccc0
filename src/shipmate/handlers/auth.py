"""Sign-in of browsers, and bearer tokens for programs."""

import msgspec

from shipmate.database.keys import SIGN_IN_MS, ApiToken
from shipmate.errors import ConflictError
from shipmate.handlers.access import clear_cookie, set_cookie
from shipmate.handlers.errors import HttpError
from shipmate.handlers.respond import json_answer
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint


class Exchange(Input, frozen=True, kw_only=True):
    token: str
    """The one-time token of the sign-in link."""


class SignedIn(msgspec.Struct, frozen=True):
    token: str
    """To be sent as `X-Shipmate-Token` with every call, beside the cookie."""


class Me(msgspec.Struct, frozen=True):
    name: str
    scopes: tuple[str, ...]


class Link(msgspec.Struct, frozen=True):
    url: str
    """Opens the page signed in; good once, for a day."""


class NewToken(Input, frozen=True, kw_only=True):
    name: str
    scopes: tuple[str, ...]
    """Of read, run, approve, admin."""


class TokenRow(msgspec.Struct, frozen=True):
    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: int
    """Milliseconds since 1970 UTC."""
    used_at: int
    """0: never; kept to the hour."""
    token: str | msgspec.UnsetType = msgspec.UNSET
    """The secret; only in the answer that made it."""


class Tokens(msgspec.Struct, frozen=True):
    tokens: tuple[TokenRow, ...]


@endpoint("POST", "/api/auth/exchange", scope="public", body=Exchange, answer=SignedIn, limit=4096)
async def exchange(call: Call[Exchange]) -> Answer:
    """Exchange the one-time token of the sign-in link for a cookie and a header token."""
    made = await call.house.keys.exchange(call.given.token)
    if made is None:
        raise HttpError(
            401,
            "link_used",
            "This sign-in link was used already or is too old."
            " `shipmate token link` makes a new one.",
        )
    cookie = set_cookie(call.house.place, made, SIGN_IN_MS // 1000)
    return json_answer(SignedIn(made.header), headers={"Set-Cookie": cookie})


@endpoint("GET", "/api/auth/me", scope="read", answer=Me)
async def me(call: Call[Nothing]) -> Answer:
    """Who the caller is, and what they may do."""
    return Me(call.caller.name, tuple(sorted(call.caller.scopes)))


@endpoint("POST", "/api/auth/sign-out", scope="read")
async def sign_out(call: Call[Nothing]) -> Answer:
    """Forget this browser's sign-in."""
    if not call.caller.sign_in:
        raise ConflictError("Only a signed-in browser can sign out; a token is revoked instead.")
    await call.house.keys.sign_out(call.caller.sign_in)
    return json_answer(None, headers={"Set-Cookie": clear_cookie(call.house.place)})


@endpoint("POST", "/api/auth/link", scope="admin", answer=Link)
async def link(call: Call[Nothing]) -> Answer:
    """Make a new sign-in link, for another browser."""
    return Link(f"{call.house.place.url}/#token={call.house.keys.invite()}")


@endpoint("GET", "/api/auth/tokens", scope="admin", answer=Tokens)
async def tokens(call: Call[Nothing]) -> Answer:
    """The bearer tokens, without their secrets."""
    return Tokens(tuple(_row(token) for token in call.house.keys.tokens()))


@endpoint("POST", "/api/auth/tokens", scope="admin", body=NewToken, answer=TokenRow, status=201)
async def create_token(call: Call[NewToken]) -> Answer:
    """Make a bearer token. Its secret is in this answer and nowhere else."""
    token, secret = await call.house.keys.create_token(call.given.name, call.given.scopes)
    return msgspec.structs.replace(_row(token), token=secret)


@endpoint("DELETE", "/api/auth/tokens/{token}", scope="admin")
async def revoke_token(call: Call[Nothing]) -> None:
    """Revoke a bearer token by its id."""
    await call.house.keys.revoke(call.path["token"])


def _row(token: ApiToken) -> TokenRow:
    return TokenRow(token.id, token.name, token.scopes, token.created_at, token.used_at)
