"""Users with passwords, for admins."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shipmate.database.users import Role, User
from shipmate.handlers.body import given_fields
from shipmate.handlers.people import add_user, hashed, remove_user, shut_out
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.safety.passwords import LONGEST

ONE = "/api/users/{name}"
Password = Annotated[str, Meta(max_length=LONGEST)]


class NewUser(Input, frozen=True, kw_only=True):
    name: Annotated[str, Meta(max_length=100)]
    role: Role
    password: Password


class ChangeUser(Input, frozen=True, kw_only=True):
    role: Role | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET
    """True ends their sign-ins and streams at once, and refuses their tokens."""
    password: Password | UnsetType = UNSET
    """A new one; ends their sign-ins."""


class UserRow(msgspec.Struct, frozen=True):
    name: str
    role: Role
    disabled: bool
    created_at: int
    """Milliseconds since 1970 UTC."""


class UserList(msgspec.Struct, frozen=True):
    users: list[UserRow]
    """In the order in which they were added; none: the person at the machine signs in by link."""


@endpoint("GET", "/api/users", scope="admin", answer=UserList)
async def users(call: Call[Nothing]) -> Answer:
    """Who can sign in with a password, and what each may do."""
    return UserList([_row(user) for user in call.house.users.all()])


@endpoint(
    "POST",
    "/api/users",
    scope="admin",
    body=NewUser,
    answer=UserRow,
    status=201,
    audit=("name", "role"),
)
async def create_user(call: Call[NewUser]) -> Answer:
    """Add a user. The first one is an admin, and owns what is there. 409: the name is taken."""
    given = call.given
    return _row(await add_user(call.house, given.name, given.role, given.password))


@endpoint("PATCH", ONE, scope="admin", body=ChangeUser, answer=UserRow, audit=("role", "disabled"))
async def change_user(call: Call[ChangeUser]) -> Answer:
    """Change a role, disable or enable, set a new password. 409: one admin must stay."""
    house, user = call.house, call.house.users.get(call.path["name"])
    fields = given_fields(call.given)
    if call.given.password is not UNSET:
        fields["password"] = await hashed(call.given.password, user.name)
    changed = await house.users.change(user.name, **fields)
    if changed.disabled or changed.password != user.password:
        await shut_out(house, user.name, but="" if changed.disabled else call.caller.sign_in)
    elif changed.role != user.role:
        house.presence.end(user=user.name)
    return _row(changed)


@endpoint("DELETE", ONE, scope="admin")
async def delete_user(call: Call[Nothing]) -> None:
    """Remove a user with their tokens. Their sessions and projects stay: admins see them."""
    user = await remove_user(call.house, call.path["name"])
    call.house.presence.end(user=user.name)


def _row(user: User) -> UserRow:
    return UserRow(user.name, user.role, user.disabled, user.created_at)
