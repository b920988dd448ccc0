"""Who may call: browser sign-ins, bearer tokens, one-time tokens. Only hashes are kept.

One process holds the data directory, so what is in memory is the truth and a check costs no
query; every change is on disk before it is answered.
"""

import contextlib
import hashlib
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from shipmate.database.connection import Connection, Database
from shipmate.errors import NotFoundError, ShipmateError, StorageError
from shipmate.protocol import new_id

SCOPES = ("read", "run", "approve", "admin")
SIGN_IN_MS = 30 * 24 * 3600 * 1000
"""safety.md 5: a sign-in lasts 30 days."""
INVITATION_S = 24 * 3600.0
"""How long a printed sign-in link is good."""
USED_EVERY_MS = 3600 * 1000
"""How exactly the last use of a token is kept."""


@dataclass(frozen=True, slots=True)
class ApiToken:
    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: int
    used_at: int = 0
    user: str = ""
    """Whose it is: it never allows more than they may."""


@dataclass(frozen=True, slots=True)
class SignIn:
    id: str
    header_hash: str
    expires_at: int
    user: str = ""
    """Empty: the person at the machine, who has opened a link."""
    created_at: int = 0
    device: str = ""
    """The kind of browser and system, as it said; empty: not known."""
    used_at: int = 0
    """Kept to the hour; 0: not since it was made."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The two halves a browser must show together."""

    cookie: str
    header: str


def hashed(secret: str) -> str:
    """SHA-256: the secrets are 256 random bits, so nothing slower is needed."""
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def _now() -> int:
    return time.time_ns() // 1_000_000


class Keys:
    def __init__(self, writer: Database) -> None:
        self._writer = writer
        self._sign_ins: dict[str, SignIn] = {}
        self._tokens: dict[str, ApiToken] = {}
        self._lent: dict[str, ApiToken] = {}
        self._invitations: dict[str, tuple[float, str]] = {}

    @classmethod
    async def open(cls, writer: Database) -> "Keys":
        keys = cls(writer)
        sign_ins, tokens = await writer.execute(_read)
        keys._sign_ins = {row[1]: SignIn(row[0], *row[2:]) for row in sign_ins}
        keys._tokens = {
            row[2]: ApiToken(row[0], row[1], tuple(row[3].split(",")), row[4], row[5], row[6])
            for row in tokens
        }
        return keys

    def invite(self, user: str = "") -> str:
        """A one-time token, good until it is used or for a day."""
        token = secrets.token_urlsafe(32)
        self._invitations[hashed(token)] = time.monotonic() + INVITATION_S, user
        return token

    async def exchange(self, invitation: str, device: str = "") -> Credentials | None:
        """A sign-in for a one-time token; None when it is unknown, used or too old."""
        good_until, user = self._invitations.pop(hashed(invitation), (0.0, ""))
        return await self.sign_in(user, device) if good_until > time.monotonic() else None

    async def sign_in(self, user: str, device: str = "") -> Credentials:
        """A sign-in of a user; empty: of the person at the machine."""
        made = Credentials(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        cookie, now = hashed(made.cookie), _now()
        row = SignIn(new_id(), hashed(made.header), now + SIGN_IN_MS, user, now, device)
        values = (row.id, cookie, row.header_hash, now, row.expires_at, user, device, 0)
        await self._writer.execute(lambda db: _insert_sign_in(db, values))
        self._sign_ins[cookie] = row
        return made

    def signed_in(self, cookie: str, header: str) -> SignIn | None:
        """The sign-in, when both halves belong together and it has not expired."""
        row = self._sign_ins.get(hashed(cookie))
        if row is None or row.expires_at <= _now():
            return None
        return row if secrets.compare_digest(row.header_hash, hashed(header)) else None

    def sign_ins(self, user: str | None = None) -> list[SignIn]:
        """Those of a user that have not expired, the newest last; None: all."""
        now = _now()
        rows = [r for r in self._sign_ins.values() if r.expires_at > now]
        found = (r for r in rows if user is None or r.user == user)
        return sorted(found, key=lambda row: (row.created_at, row.id))

    async def seen(self, sign_in: SignIn) -> None:
        """It is used now."""
        now = _now()
        if now - sign_in.used_at <= USED_EVERY_MS:
            return
        self._sign_ins = {
            key: replace(row, used_at=now) if row.id == sign_in.id else row
            for key, row in self._sign_ins.items()
        }
        await self._used("UPDATE sign_ins SET used_at = ? WHERE id = ?", now, sign_in.id)

    async def _used(self, sql: str, now: int, key: str) -> None:
        with contextlib.suppress(StorageError):  # a full disk must not lock anyone out
            await self._writer.execute(lambda db: db.execute(sql, (now, key)).rowcount)

    async def sign_out(self, sign_in: str) -> None:
        await self._writer.execute(
            lambda db: db.execute("DELETE FROM sign_ins WHERE id = ?", (sign_in,)).rowcount
        )
        self._sign_ins = {k: row for k, row in self._sign_ins.items() if row.id != sign_in}

    async def sign_out_all(self, user: str, *, but: str = "") -> list[str]:
        """End all sign-ins of a user, save one; the ids of those that ended."""
        ended = [r.id for r in self._sign_ins.values() if r.user == user and r.id != but]
        statement = 'DELETE FROM sign_ins WHERE "user" = ? AND id != ?'
        await self._writer.execute(lambda db: db.execute(statement, (user, but)).rowcount)
        self._sign_ins = {k: row for k, row in self._sign_ins.items() if row.id not in ended}
        return ended

    async def reload(self) -> None:
        """After users were added or removed: what they own has changed."""
        fresh = await Keys.open(self._writer)
        self._sign_ins, self._tokens = fresh._sign_ins, fresh._tokens

    async def create_token(
        self, name: str, scopes: Iterable[str], user: str = ""
    ) -> tuple[ApiToken, str]:
        """A new bearer token and its secret, which is shown once and never again."""
        asked = set(scopes)
        wanted = tuple(scope for scope in SCOPES if scope in asked)
        if unknown := sorted(asked - set(SCOPES)):
            raise ShipmateError(f"Unknown scope {unknown[0]!r}; there are {', '.join(SCOPES)}.")
        if not wanted or not name.strip():
            raise ShipmateError("A token needs a name and at least one scope.")
        secret = "sm_" + secrets.token_urlsafe(32)
        row = ApiToken(new_id(), name.strip(), wanted, _now(), user=user)
        values = (row.id, row.name, hashed(secret), ",".join(wanted), row.created_at, 0, user)
        await self._writer.execute(lambda db: _insert_token(db, values))
        self._tokens[hashed(secret)] = row
        return row, secret

    def lend(self, name: str) -> str:
        """The secret of a token with every scope that is never kept and ends with the process."""
        secret = "sm_" + secrets.token_urlsafe(32)
        self._lent[hashed(secret)] = ApiToken(new_id(), name, SCOPES, _now())
        return secret

    def tokens(self, user: str | None = None) -> list[ApiToken]:
        """Those of a user; None: all."""
        found = (t for t in self._tokens.values() if user is None or t.user == user)
        return sorted(found, key=lambda token: (token.created_at, token.id))

    async def revoke(self, token: str) -> None:
        """Revoke by id. Calls that are running end by themselves, new ones are refused."""
        if all(row.id != token for row in self._tokens.values()):
            raise NotFoundError(f"There is no token {token!r}; list them to see their ids.")
        await self._writer.execute(
            lambda db: db.execute("DELETE FROM api_tokens WHERE id = ?", (token,)).rowcount
        )
        self._tokens = {k: row for k, row in self._tokens.items() if row.id != token}

    async def bearer(self, secret: str) -> ApiToken | None:
        key = hashed(secret)
        row = self._tokens.get(key)
        if row is None:
            return self._lent.get(key)
        now = _now()
        if now - row.used_at > USED_EVERY_MS:
            self._tokens[key] = replace(row, used_at=now)
            await self._used("UPDATE api_tokens SET used_at = ? WHERE id = ?", now, row.id)
        return row


def _read(
    db: Connection,
) -> tuple[
    list[tuple[str, str, str, int, str, int, str, int]],
    list[tuple[str, str, str, str, int, int, str]],
]:
    db.execute("DELETE FROM sign_ins WHERE expires_at <= ?", (_now(),))
    return (
        db.execute(
            'SELECT id, cookie_hash, header_hash, expires_at, "user", created_at, device, used_at'
            " FROM sign_ins"
        ).fetchall(),
        db.execute(
            'SELECT id, name, hash, scopes, created_at, used_at, "user" FROM api_tokens'
        ).fetchall(),
    )


def _insert_sign_in(db: Connection, values: tuple[object, ...]) -> None:
    db.execute("INSERT INTO sign_ins VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)


def _insert_token(db: Connection, values: tuple[object, ...]) -> None:
    db.execute("INSERT INTO api_tokens VALUES (?, ?, ?, ?, ?, ?, ?)", values)
