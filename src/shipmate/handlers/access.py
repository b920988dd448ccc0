"""Who may call: a signed-in browser or a bearer token, and its scopes.

safety.md 5. A browser shows a cookie **and** a header token: a cookie alone reaches every port
of this machine, a header alone could be sent by whoever reads the page's storage.
"""

from collections.abc import Sequence

from starlette.datastructures import Headers

from shipmate.database.keys import ApiToken, Credentials, Keys, SignIn
from shipmate.database.users import Users
from shipmate.handlers.errors import HttpError
from shipmate.handlers.place import Place
from shipmate.handlers.route import ALLOWED, NOBODY, Caller, Scope

TOKEN_HEADER = "x-shipmate-token"  # noqa: S105 - the name of a header


async def caller_of(keys: Keys, users: Users, place: Place, headers: Headers) -> Caller:
    """Who calls; `NOBODY` without good credentials."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        token = await keys.bearer(secret.strip())
        return _with_token(users, token) if token else NOBODY
    header = headers.get(TOKEN_HEADER, "")
    for cookie in cookies_named(place.cookie, headers.getlist("cookie")):
        if header and (sign_in := keys.signed_in(cookie, header)):
            await keys.seen(sign_in)
            return _in_a_browser(users, sign_in)
    return NOBODY


def _in_a_browser(users: Users, sign_in: SignIn) -> Caller:
    if not sign_in.user:
        return Caller("user", ALLOWED["admin"], sign_in.id)
    user = users.find(sign_in.user)
    if user is None or user.disabled:
        return NOBODY
    return Caller(user.name, ALLOWED[user.role], sign_in.id, user.name, user.role)


def _with_token(users: Users, token: ApiToken) -> Caller:
    """A token allows what it names, and never more than its user may."""
    scopes = frozenset(token.scopes)
    if not token.user:
        return Caller(token.name, scopes, token=token.id)
    user = users.find(token.user)
    if user is None or user.disabled:
        return NOBODY
    if user.role != "admin":
        allowed = ALLOWED[user.role]
        scopes = allowed if "admin" in scopes else (scopes | {"read"}) & allowed
    return Caller(token.name, scopes, user=user.name, role=user.role, token=token.id)


def shows_credentials(headers: Headers) -> bool:
    return bool(headers.get("authorization") or headers.get(TOKEN_HEADER))


def check_scope(caller: Caller, scope: Scope) -> None:
    if scope == "public":
        return
    if not caller.scopes:
        raise HttpError(
            401,
            "unauthorized",
            "Sign in first: open the link that `shipmate serve` printed, or make a new one"
            " with `shipmate token link`. Programs send `Authorization: Bearer <token>`.",
            {"WWW-Authenticate": "Bearer"},
        )
    caller.must(scope)


def cookies_named(name: str, headers: Sequence[str]) -> list[str]:
    """The values of a cookie, several when another path or port has set the same name."""
    pairs = (pair.strip().partition("=") for line in headers for pair in line.split(";"))
    return [value for key, _, value in pairs if key == name]


def set_cookie(place: Place, made: Credentials, max_age: int) -> str:
    """The Set-Cookie header of a sign-in."""
    secure = "; Secure" if place.secure else ""
    return (
        f"{place.cookie}={made.cookie}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Strict"
        f"{secure}"
    )


def clear_cookie(place: Place) -> str:
    secure = "; Secure" if place.secure else ""
    return f"{place.cookie}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict{secure}"
