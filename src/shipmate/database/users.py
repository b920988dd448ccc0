"""People with passwords: who there is, and what each may do. Off while there is nobody.

Like `database.keys`: what is in memory is the truth, every change is on disk before it is
answered. The empty name is the person at the machine, who owns all while there are no users.
"""

import json
import re
import time
import unicodedata
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from shipmate.database.connection import Connection, Database
from shipmate.database.rows import hash_sessions
from shipmate.errors import ConflictError, NotFoundError, ShipmateError

Role: TypeAlias = Literal["admin", "user", "viewer"]
ROLES: tuple[Role, ...] = get_args(Role)
RESERVED = frozenset({"all", "bypass", "cut_off", "moved_on", "nobody", "rule", "stop", "user"})
"""Words that stand where a name could."""
_NAME = re.compile(r"\w[\w.@-]{0,63}")


@dataclass(frozen=True, slots=True)
class User:
    name: str
    role: Role
    password: str
    """Its Argon2id hash."""
    disabled: bool = False
    created_at: int = 0


def user_name(text: str) -> str:
    """The one form of a name, whatever its case and composition."""
    return unicodedata.normalize("NFKC", text.strip()).casefold()


class Users:
    def __init__(self, writer: Database) -> None:
        self._writer = writer
        self._users: dict[str, User] = {}

    @classmethod
    async def open(cls, writer: Database) -> "Users":
        users = cls(writer)
        users._users = {user.name: user for user in await writer.execute(_read)}
        return users

    def __bool__(self) -> bool:
        """Whether people sign in with passwords here."""
        return bool(self._users)

    def all(self) -> list[User]:
        return sorted(self._users.values(), key=lambda user: (user.created_at, user.name))

    def find(self, name: str) -> User | None:
        return self._users.get(user_name(name))

    def get(self, name: str) -> User:
        if (found := self.find(name)) is None:
            raise NotFoundError(f"There is no user {name!r}. `shipmate user list` names them.")
        return found

    async def add(self, name: str, role: str, password: str) -> User:
        """Add one, with the hash of the password. The first one is an admin, and owns from now
        on what was there."""
        name, role = user_name(name), _role(role)
        if not _NAME.fullmatch(name) or name in RESERVED:
            raise ShipmateError(
                f"{name!r} cannot be a user's name: 1 to 64 letters, digits, `.`, `_`, `-`, `@`, "
                f"beginning with a letter or digit, and none of {', '.join(sorted(RESERVED))}."
            )
        if name in self._users:
            raise ConflictError(f"There is a user {name!r} already.")
        if not self._users and role != "admin":
            raise ShipmateError("The first user is an admin: who else would add the others?")
        user = User(name, role, password, created_at=time.time_ns() // 1_000_000)
        first = not self._users
        await self._writer.execute(lambda db: _insert(db, user, adopt=first))
        self._users[name] = user
        return user

    async def change(self, name: str, **fields: Any) -> User:
        """Change `role`, `disabled`, `password` (a hash). One admin stays."""
        user = self.get(name)
        if "role" in fields:
            fields["role"] = _role(fields["role"])
        changed = replace(user, **fields)
        if user.role == "admin" and (changed.disabled or changed.role != "admin"):
            self._keep_an_admin(user)
        values = (changed.role, changed.password, changed.disabled, changed.name)
        await self._writer.execute(
            lambda db: (
                db.execute(
                    "UPDATE users SET role = ?, password = ?, disabled = ? WHERE name = ?", values
                ).rowcount
            )
        )
        self._users[changed.name] = changed
        return changed

    async def remove(self, name: str) -> User:
        """Remove one; what was theirs has no owner then, which admins see. The last one can go:
        then all is again as without users."""
        user = self.get(name)
        if user.role == "admin" and len(self._users) > 1:
            self._keep_an_admin(user)
        await self._writer.execute(lambda db: _delete(db, user.name))
        del self._users[user.name]
        return user

    def _keep_an_admin(self, but: User) -> None:
        others = (u for u in self._users.values() if u.name != but.name)
        if not any(other.role == "admin" and not other.disabled for other in others):
            raise ConflictError(f"{but.name} is the only admin; make another one first.")


def _role(text: str) -> Role:
    for role in ROLES:
        if text == role:
            return role
    raise ShipmateError(f"Unknown role {text!r}; there are {', '.join(ROLES)}.")


def _read(db: Connection) -> list[User]:
    rows = db.execute("SELECT name, role, password, disabled, created_at FROM users")
    return [User(name, role, secret, bool(off), at) for name, role, secret, off, at in rows]


_OWNED = {"sessions": "owner", "usage": "owner", "api_tokens": '"user"', "sign_ins": '"user"'}


def _insert(db: Connection, user: User, *, adopt: bool) -> None:
    db.execute(
        "INSERT INTO users VALUES (?, ?, ?, ?, ?)",
        (user.name, user.role, user.password, user.disabled, user.created_at),
    )
    if adopt:
        for table, column in _OWNED.items():
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ''", (user.name,))  # noqa: S608 - fixed names
        hash_sessions(db)


def _delete(db: Connection, name: str) -> None:
    db.execute("DELETE FROM users WHERE name = ?", (name,))
    db.execute('DELETE FROM sign_ins WHERE "user" = ?', (name,))
    db.execute('DELETE FROM api_tokens WHERE "user" = ?', (name,))
    db.execute("UPDATE sessions SET owner = '' WHERE owner = ?", (name,))
    db.execute("UPDATE usage SET owner = '' WHERE owner = ?", (name,))
    shared = "SELECT id, readers FROM sessions WHERE readers != '[]'"
    for session, readers in db.execute(shared).fetchall():
        left = json.dumps([one for one in json.loads(readers) if one != name])
        db.execute("UPDATE sessions SET readers = ? WHERE id = ?", (left, session))
    hash_sessions(db)
