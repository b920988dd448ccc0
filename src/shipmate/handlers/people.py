"""Users as one thing: their row, what they own in the configuration, their sign-ins and streams."""

import asyncio
from typing import Protocol

from shipmate.database.keys import Keys
from shipmate.database.users import User, Users, user_name
from shipmate.handlers.house import Configuration, House
from shipmate.safety.passwords import check_password, hash_password, is_password

AT_ONCE = asyncio.Semaphore(2)
"""Hashes that are made at once; each takes 64 MB."""


class Register(Protocol):
    """Who there is, and what is theirs."""

    @property
    def users(self) -> Users: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def config(self) -> Configuration: ...


async def hashed(password: str, name: str) -> str:
    """The hash of a new password; `ShipmateError` when it would be guessed."""
    check_password(password, user_name(name))
    async with AT_ONCE:
        return await asyncio.to_thread(hash_password, password)


async def verified(users: Users, name: str, password: str) -> User | None:
    """The user of that name and password. It takes the same time whoever has that name."""
    user = users.find(name)
    kept = user.password if user and not user.disabled else ""
    async with AT_ONCE:
        right = await asyncio.to_thread(is_password, password, kept)
    return user if right else None


async def add_user(at: Register, name: str, role: str, password: str) -> User:
    """The first one owns what is there: sessions, projects, tokens and sign-ins."""
    first = not at.users
    user = await at.users.add(name, role, await hashed(password, name))
    if first:
        for project, one in at.config.settings.projects.items():
            if not one.owner:
                at.config.set_project(project, owner=user.name)
        await at.keys.reload()
    return user


async def remove_user(at: Register, name: str) -> User:
    """What was theirs has no owner then: admins see it."""
    user = await at.users.remove(name)
    for project, one in at.config.settings.projects.items():
        if user.name == one.owner or user.name in one.people:
            people = tuple(who for who in one.people if who != user.name)
            owner = "" if user.name == one.owner else one.owner
            at.config.set_project(project, owner=owner, people=people)
    await at.keys.reload()
    return user


async def shut_out(house: House, user: str, *, but: str = "") -> None:
    """End a user's sign-ins and streams, save one sign-in's."""
    await house.keys.sign_out_all(user, but=but)
    house.presence.end(user=user, but=but)
