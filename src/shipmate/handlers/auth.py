"""Sign-in of browsers, and bearer tokens for programs."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from shipmate.database.keys import SCOPES, SIGN_IN_MS, ApiToken, Credentials
from shipmate.database.users import Role, User, user_name
from shipmate.errors import ConflictError, NotFoundError
from shipmate.handlers.access import clear_cookie, set_cookie
from shipmate.handlers.auditing import told
from shipmate.handlers.device import device_of
from shipmate.handlers.errors import HttpError
from shipmate.handlers.people import hashed, shut_out, verified
from shipmate.handlers.respond import json_answer
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.handlers.users import Password


class Exchange(Input, frozen=True, kw_only=True):
    token: str
    """The one-time token of the sign-in link."""


class SignedIn(msgspec.Struct, frozen=True):
    token: str
    """To be sent as `X-Shipmate-Token` with every call, beside the cookie."""


class Ways(msgspec.Struct, frozen=True):
    """How one signs in here. A link always does."""

    password: bool
    """There are users: with name and password, too."""


class SignIn(Input, frozen=True, kw_only=True):
    name: Annotated[str, Meta(max_length=100)]
    password: Password


class ChangePassword(Input, frozen=True, kw_only=True):
    old: Password
    new: Password


class Me(msgspec.Struct, frozen=True):
    name: str
    """Of the user or the token; `user`: the person at the machine."""
    scopes: tuple[str, ...]
    user: str
    """Whose the sessions are; empty: there are no users, or it is the person at the machine."""
    role: Role


class Link(msgspec.Struct, frozen=True):
    url: str
    """Opens the page signed in; good once, for a day."""


class NewToken(Input, frozen=True, kw_only=True):
    name: str
    scopes: tuple[str, ...]
    """Of read, run, approve, admin; none that the caller lacks."""


class TokenRow(msgspec.Struct, frozen=True):
    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: int
    """Milliseconds since 1970 UTC."""
    used_at: int
    """0: never; kept to the hour."""
    user: str
    """Whose it is."""
    token: str | msgspec.UnsetType = msgspec.UNSET
    """The secret; only in the answer that made it."""


class Tokens(msgspec.Struct, frozen=True):
    tokens: tuple[TokenRow, ...]


@endpoint(
    "POST",
    "/api/auth/exchange",
    scope="public",
    body=Exchange,
    answer=SignedIn,
    limit=4096,
    audit=(),
)
async def exchange(call: Call[Exchange]) -> Answer:
    """Exchange the one-time token of the sign-in link for a cookie and a header token."""
    house = call.house
    made = await house.keys.exchange(call.given.token, device_of(call.headers))
    if made is None:
        house.limits.addresses.take(call.address, "sign-in links that are not good")
        await told(call, "sign_in_failed")
        raise HttpError(
            401,
            "link_used",
            "This sign-in link was used already or is too old."
            " `shipmate token link` makes a new one.",
        )
    return _signed_in(call, made)


@endpoint("GET", "/api/auth/ways", scope="public", answer=Ways)
async def ways(call: Call[Nothing]) -> Answer:
    """How one signs in here."""
    return Ways(bool(call.house.users))


@endpoint(
    "POST",
    "/api/auth/sign-in",
    scope="public",
    body=SignIn,
    answer=SignedIn,
    limit=8192,
    audit=("name",),
)
async def sign_in(call: Call[SignIn]) -> Answer:
    """Sign in with name and password. 401: one of them is wrong; 429: too many were."""
    user = await _checked(call, call.given.name, call.given.password)
    made = await call.house.keys.sign_in(user.name, device_of(call.headers))
    return _signed_in(call, made)


@endpoint("POST", "/api/auth/password", scope="read", body=ChangePassword, limit=8192, audit=())
async def change_password(call: Call[ChangePassword]) -> None:
    """Change one's own password; every other sign-in of the user ends."""
    caller, house = call.caller, call.house
    if not (caller.user and caller.sign_in):
        raise ConflictError("Only a user who is signed in with the page changes a password here.")
    user = await _checked(call, caller.user, call.given.old)
    await house.users.change(user.name, password=await hashed(call.given.new, user.name))
    await shut_out(house, user.name, but=caller.sign_in)


async def _checked(call: Call[Any], name: str, password: str) -> User:
    """The user, or 401; what is tried too often is refused before it is looked at."""
    limits, key = call.house.limits, user_name(name)
    limits.addresses.take(call.address, "wrong passwords")
    limits.names.take(key, "wrong passwords")
    user = await verified(call.house.users, name, password)
    if user is None:
        known = call.house.users.find(name)  # what is typed there may be a password
        await told(call, "sign_in_failed", name=known.name if known else "")
        raise HttpError(401, "wrong_password", "The name or the password is not right.")
    limits.names.forgive(key)
    limits.addresses.forgive(call.address)
    return user


def _signed_in(call: Call[Any], made: Credentials) -> Answer:
    cookie = set_cookie(call.house.place, made, SIGN_IN_MS // 1000)
    return json_answer(SignedIn(made.header), headers={"Set-Cookie": cookie})


@endpoint("GET", "/api/auth/me", scope="read", answer=Me)
async def me(call: Call[Nothing]) -> Answer:
    """Who the caller is, and what they may do."""
    caller = call.caller
    return Me(caller.name, tuple(sorted(caller.scopes)), caller.user, caller.role)


@endpoint("POST", "/api/auth/sign-out", scope="read", audit=())
async def sign_out(call: Call[Nothing]) -> Answer:
    """Forget this browser's sign-in; its streams end."""
    if not call.caller.sign_in:
        raise ConflictError("Only a signed-in browser can sign out; a token is revoked instead.")
    await call.house.keys.sign_out(call.caller.sign_in)
    call.house.presence.end(credential=call.caller.sign_in)
    return json_answer(None, headers={"Set-Cookie": clear_cookie(call.house.place)})


@endpoint("POST", "/api/auth/link", scope="admin", answer=Link)
async def link(call: Call[Nothing]) -> Answer:
    """Make a new sign-in link of the caller, for another browser."""
    return Link(f"{call.house.place.url}/#token={call.house.keys.invite(call.caller.user)}")


@endpoint("GET", "/api/auth/tokens", scope="read", answer=Tokens)
async def tokens(call: Call[Nothing]) -> Answer:
    """One's bearer tokens (an admin's: all), without their secrets."""
    return Tokens(tuple(_row(token) for token in call.house.keys.tokens(whose(call))))


@endpoint(
    "POST",
    "/api/auth/tokens",
    scope="read",
    body=NewToken,
    answer=TokenRow,
    status=201,
    audit=("name", "scopes"),
)
async def create_token(call: Call[NewToken]) -> Answer:
    """Make a bearer token of one's own. Its secret is in this answer and nowhere else."""
    _must_manage_tokens(call)
    for scope in SCOPES:
        if scope in call.given.scopes:
            call.caller.must(scope)
    token, secret = await call.house.keys.create_token(
        call.given.name, call.given.scopes, call.caller.user
    )
    return msgspec.structs.replace(_row(token), token=secret)


@endpoint("DELETE", "/api/auth/tokens/{token}", scope="read", audit=())
async def revoke_token(call: Call[Nothing]) -> None:
    """Revoke a bearer token by its id; its streams end."""
    _must_manage_tokens(call)
    token = call.path["token"]
    if token not in {one.id for one in call.house.keys.tokens(whose(call))}:
        raise NotFoundError(f"There is no token {token!r}; list them to see their ids.")
    await call.house.keys.revoke(token)
    call.house.presence.end(credential=token)


def whose(call: Call[Any]) -> str | None:
    """Whose tokens and sign-ins the caller sees; None: everybody's."""
    _must_manage_tokens(call)
    return None if call.caller.may("admin") else call.caller.user


def _must_manage_tokens(call: Call[Any]) -> None:
    """A person does, in a browser; a token only with every scope."""
    if not call.caller.sign_in:
        call.caller.must("admin")


def _row(token: ApiToken) -> TokenRow:
    return TokenRow(token.id, token.name, token.scopes, token.created_at, token.used_at, token.user)
