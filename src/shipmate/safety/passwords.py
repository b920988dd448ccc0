"""Passwords: Argon2id, with the library's own parameters (RFC 9106, low memory).

Both functions take tens of milliseconds and 64 MB on purpose: call them in a thread, few at a time.
"""

import secrets
from functools import cache
from typing import Any

from shipmate.errors import ShipmateError

SHORTEST, LONGEST = 10, 1000
"""Characters. Length is what counts (NIST SP 800-63B); the longest keeps hashing cheap."""


def check_password(password: str, name: str) -> None:
    """Refuse what would be guessed; `ShipmateError` says why."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise ShipmateError(f"A password has {SHORTEST} to {LONGEST:,} characters.")
    if len(set(password)) < 4 or password.casefold() in (name, name * 2):
        raise ShipmateError("This password would be guessed; choose a longer or a less even one.")


def hash_password(password: str) -> str:
    return _hasher().hash(password.encode(errors="surrogatepass"))


def is_password(password: str, kept: str) -> bool:
    """Whether it is the one of the hash; without a hash (nobody has that name) never, after the
    same time."""
    from argon2.exceptions import VerificationError  # with the hasher

    try:
        _hasher().verify(kept or _nobodys(), password.encode(errors="surrogatepass"))
    except VerificationError:
        return False
    return bool(kept)


@cache
def _hasher() -> Any:
    from argon2 import PasswordHasher  # most servers never need it

    return PasswordHasher()


@cache
def _nobodys() -> str:
    return hash_password(secrets.token_urlsafe(16))
