"""The browsers that are signed in: listed, and signed out one by one."""

import msgspec

from shipmate.database.keys import SignIn
from shipmate.errors import NotFoundError
from shipmate.handlers.auth import whose
from shipmate.handlers.route import Answer, Call, Nothing, endpoint


class SignInRow(msgspec.Struct, frozen=True):
    id: str
    device: str
    """The kind of browser and system, as it said; empty: not known."""
    created_at: int
    """Milliseconds since 1970 UTC."""
    used_at: int
    """0: not since it was made; kept to the hour."""
    user: str
    """Whose it is; empty: the person at the machine's."""
    current: bool
    """It is the one that asks."""


class SignIns(msgspec.Struct, frozen=True):
    sign_ins: tuple[SignInRow, ...]


@endpoint("GET", "/api/auth/sign-ins", scope="read", answer=SignIns)
async def sign_ins(call: Call[Nothing]) -> Answer:
    """The browsers that are signed in as oneself (an admin's: as anybody)."""
    found = call.house.keys.sign_ins(whose(call))
    return SignIns(tuple(_row(one, call.caller.sign_in) for one in found))


@endpoint("DELETE", "/api/auth/sign-ins/{sign_in}", scope="read", audit=())
async def end_sign_in(call: Call[Nothing]) -> None:
    """Sign a browser out by the id of its sign-in; its streams end."""
    sign_in = call.path["sign_in"]
    if sign_in not in {one.id for one in call.house.keys.sign_ins(whose(call))}:
        raise NotFoundError(f"There is no sign-in {sign_in!r}; list them to see their ids.")
    await call.house.keys.sign_out(sign_in)
    call.house.presence.end(credential=sign_in)


def _row(one: SignIn, current: str) -> SignInRow:
    return SignInRow(one.id, one.device, one.created_at, one.used_at, one.user, one.id == current)
