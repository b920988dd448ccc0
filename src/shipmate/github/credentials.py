"""What signs in at GitHub: from the configuration, the environment, the secrets, or `gh`."""

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from shipmate.errors import ConfigError
from shipmate.github.failures import TokenError
from shipmate.github.settings import GitHubSettings, Place
from shipmate.safety.redaction import known
from shipmate.safety.secrets import SecretRef, Secrets

SECRET: Final = "github"  # noqa: S105 - the name of a secret
"""Under which a pasted token is kept."""
ASKED_S: Final = 60.0
"""So long what `gh` said holds, and that it said nothing."""
GH_S: Final = 5.0
_PASSED: Final = ("PATH", "HOME", "XDG_CONFIG_HOME", "GH_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS")


@dataclass(frozen=True, slots=True)
class Token:
    value: str = field(default="", repr=False)
    source: str = ""
    """Where it is from, in words; empty: there is none."""


@dataclass(slots=True)
class Credentials:
    """The token in force. Only the client of this room ever holds one."""

    settings: Callable[[], GitHubSettings]
    secrets: Secrets
    clock: Callable[[], float] = time.monotonic
    _gh: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])
    """By host: when it was asked, and its answer."""

    async def token(self, place: Place) -> Token:
        """Raises `TokenError` where the configuration names one that cannot be had."""
        if (ref := self.settings().token) is not None:
            try:
                return Token(await asyncio.to_thread(self.secrets.resolve, ref), str(ref))
            except ConfigError as error:
                raise TokenError(f"The token of [github] cannot be had. {error}") from error
        for one in self._usual(place):
            with contextlib.suppress(ConfigError):
                return Token(await asyncio.to_thread(self.secrets.resolve, one), str(one))
        value = await self._of_gh(place.host)
        return Token(value, "gh auth token") if value else Token()

    @staticmethod
    def _usual(place: Place) -> tuple[SecretRef, ...]:
        """`GITHUB_TOKEN` is for github.com: another host is never sent it unasked."""
        mine = ("GITHUB_TOKEN", "GH_TOKEN")
        theirs = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
        names = mine if place.public else theirs
        return (*(SecretRef(env=name) for name in names), SecretRef(secret=SECRET))

    async def _of_gh(self, host: str) -> str:
        asked, value = self._gh.get(host, (float("-inf"), ""))
        if self.clock() - asked < ASKED_S:
            return value
        value = await _said_by_gh(host)
        self._gh[host] = (self.clock(), value)
        return value


async def _said_by_gh(host: str) -> str:
    """Empty where there is no `gh`, or it is not signed in there."""
    program = shutil.which("gh")
    if program is None:
        return ""
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(program, "auth", "token", "--hostname", host),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
        cwd="/",
    )
    try:
        async with asyncio.timeout(GH_S):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    value = said.decode("ascii", "replace").strip()
    if process.returncode or not value.isprintable() or " " in value or not value.isascii():
        return ""
    known(value)
    return value
