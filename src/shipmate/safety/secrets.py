"""Where keys come from, and how they are kept away from everything that does not need them."""

import contextlib
import os
import re
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from shipmate.errors import ConfigError
from shipmate.safety.redaction import known

KEYRING_SERVICE = "shipmate"

SECRET_NAME = re.compile(
    r"(^|_)(api_?keys?|keys?|tokens?|secrets?|passw(or)?ds?|passphrase|pat|credentials?|auth)(_|$)",
    re.IGNORECASE,
)
"""Names of environment variables whose values children must not see."""

NOT_SECRET = frozenset({"SSH_AUTH_SOCK", "GPG_KEY"})
"""A socket's path, and the public key id that Python images carry."""


_PLACE = re.compile(r"[/~.\\]|[A-Za-z]:[\\/]|https?://[^@]*\Z")


class SecretRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a secret is found, never the secret itself. Exactly one field is set."""

    EXPECTED: ClassVar[str] = (
        'a reference: { env = "NAME" }, { secret = "NAME" } or { keyring = "NAME" }; '
        "keys themselves are not written here"
    )
    env: str = ""
    secret: str = ""
    keyring: str = ""

    def __post_init__(self) -> None:
        if sum(map(bool, (self.env, self.secret, self.keyring))) != 1:
            raise ValueError(f"expected {self.EXPECTED}")

    def __str__(self) -> str:
        kind = "env" if self.env else "secret" if self.secret else "keyring"
        return f"{kind}:{self.env or self.secret or self.keyring}"


class Secrets:
    """Resolves references. Values leave only through `resolve`; nothing prints or lists them."""

    def __init__(self, file: Path, environ: Mapping[str, str] | None = None) -> None:
        self.file = file
        """A JSON object of names to values, mode 0600."""
        source = os.environ if environ is None else environ
        self._environ = {k: v for k, v in source.items() if v}
        self._lock = threading.Lock()

    def resolve(self, ref: SecretRef) -> str:
        """The value, or a `ConfigError` that says what is missing and how to supply it."""
        if ref.env:
            value, hint = self._environ.get(ref.env, ""), "set it before starting shipmate"
        elif ref.secret:
            value, hint = self._read().get(ref.secret, ""), "enter the key again in the settings"
        else:
            value = _from_keyring(ref.keyring)
            hint = f"add it with: keyring set {KEYRING_SERVICE} {ref.keyring}"
        value = value.strip()
        if not value:
            raise ConfigError(f"The key {ref} is not there; {hint}.")
        if not value.isascii() or not value.isprintable():
            raise ConfigError(
                f"The key {ref} has characters that no key has (a line break, or not ASCII); "
                "copy it again."
            )
        known(value)
        return value

    def missing(self, ref: SecretRef | None) -> str:
        """Why the reference cannot be resolved; empty when it can, or when there is none."""
        if ref is None:
            return ""
        try:
            self.resolve(ref)
        except ConfigError as error:
            return str(error)
        return ""

    def store(self, name: str, value: str) -> SecretRef:
        """Keep a pasted key in the file and give the reference to write down."""
        if not name:
            raise ConfigError("A stored key needs a name.")
        known(value.strip())
        with self._lock:
            self._write({**self._read(), name: value.strip()})
        return SecretRef(secret=name)

    def names(self) -> frozenset[str]:
        """Names of the keys in the file."""
        return frozenset(self._read())

    def forget(self, name: str) -> None:
        with self._lock:
            values = self._read()
            if values.pop(name, None) is not None:
                self._write(values)

    def recall(self) -> None:
        """Have all be recognised where they turn up: those of the file, and what the environment
        names like a secret. Paths and addresses are none."""
        with contextlib.suppress(ConfigError):  # who needs one of the file is told
            for value in self._read().values():
                known(value)
        for name, value in self._environ.items():
            if is_secret_name(name) and not _PLACE.match(value.strip()):
                known(value.strip())

    def _read(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(
                f"{self.file} cannot be read ({type(error).__name__}); "
                "repair it, or move it away and enter the keys again."
            ) from None

    def _write(self, values: Mapping[str, str]) -> None:
        write_private(self.file, msgspec.json.format(msgspec.json.encode(values)))


def is_secret_name(name: str) -> bool:
    return name not in NOT_SECRET and SECRET_NAME.search(name) is not None


def scrubbed_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a child process: ours, without anything named like a secret."""
    source = os.environ if environ is None else environ
    return {k: v for k, v in source.items() if not is_secret_name(k)}


def write_private(file: Path, content: bytes) -> None:
    """Replace a file at once (whole or not at all), readable by its owner only. Where it is a
    symbolic link, what it points to is replaced."""
    file = file.resolve()
    temporary = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise ConfigError(f"{file} could not be written: {error.strerror or error}.") from error


def _from_keyring(name: str) -> str:
    try:
        keyring: Any = import_module("keyring")  # optional, and slow to start
    except ImportError:
        raise ConfigError(
            f"The key keyring:{name} needs the package keyring; "
            "install it with: pip install 'shipmate[keyring]'"
        ) from None
    try:
        return keyring.get_password(KEYRING_SERVICE, name) or ""
    except keyring.errors.KeyringError as error:
        raise ConfigError(f"The system's keyring cannot be read: {error}") from error
