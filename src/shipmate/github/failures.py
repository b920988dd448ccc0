"""How GitHub fails, in words for a person: what is wrong, where, what to do."""

import math
import time
from typing import Final

import msgspec

from shipmate.errors import ShipmateError
from shipmate.network.client import Answer
from shipmate.tools.output import clean

TOLD: Final = 300
"""Characters of GitHub's own words."""


class GitHubError(ShipmateError):
    """GitHub did not do what it was asked for."""

    status = 502
    code = "github"


class NoRepositoryError(GitHubError):
    status = 409
    code = "github_no_repository"


class TokenError(GitHubError):
    """The token is refused, or cannot be had. No 401: that is about shipmate's own sign-in."""

    code = "github_token"


class ForbiddenError(GitHubError):
    status = 403
    code = "github_forbidden"


class NotThereError(GitHubError):
    status = 404
    code = "github_not_found"


class InvalidError(GitHubError):
    status = 422
    code = "github_invalid"


class RateLimitError(GitHubError):
    """GitHub takes no more requests until `resets_at`, in seconds since 1970 UTC."""

    status = 503
    code = "github_rate_limit"

    def __init__(self, detail: str, resets_at: float, now: float) -> None:
        super().__init__(detail)
        self.resets_at = resets_at
        self.headers = {"Retry-After": str(max(1, math.ceil(resets_at - now)))}


class _Fault(msgspec.Struct):
    resource: str | None = None
    field: str | None = None
    code: str | None = None
    message: str | None = None


class _Words(msgspec.Struct):
    """`basic-error` and `validation-error` of GitHub's description."""

    message: str | None = None
    errors: list[_Fault | str] | None = None


def words_of(body: bytes) -> str:
    """What GitHub says of a failure, on one line."""
    try:
        told = msgspec.json.decode(body, type=_Words)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    parts = [told.message or ""]
    for fault in told.errors or ():
        if isinstance(fault, str):
            parts.append(fault)
        else:
            what = " ".join(part for part in (fault.field, fault.code) if part)
            parts.append(fault.message or what)
    return clean(" ".join(" ".join(parts).split()))[:TOLD].rstrip(". ")


def failure(answer: Answer, body: bytes, what: str, *, signed_in: str, now: float) -> GitHubError:
    """The error for an answer that is no success. `what` was asked for; `signed_in`: where the
    token is from, empty without one."""
    words = words_of(body)
    if (limited := _limited(answer, words, signed_in, now)) is not None:
        return limited
    place, status = answer.url.place, answer.status
    more = "" if signed_in else " There is no token: only public repositories are seen."
    if status == 401:
        who = f"the token ({signed_in})" if signed_in else "a request without a token"
        return TokenError(f"{place} refuses {who}: {words or 'bad credentials'}. Renew it.")
    if status == 403:
        return ForbiddenError(f"{place} does not allow it: {words or what}.{more}")
    if status in (404, 410):
        if words.lower() in ("", "not found"):
            words = f"there is no {what}, or the token may not see it"
        return NotThereError(f"{place}: {words}.{more}")
    return _other(status, place, words or what)


def _other(status: int, place: str, words: str) -> GitHubError:
    if status == 422:
        return InvalidError(f"{place} does not accept it: {words}.")
    if status >= 500:
        return GitHubError(f"{place} has a fault of its own (HTTP {status}). Try again later.")
    return GitHubError(f"{place} answered with HTTP {status}: {words}.")


def _limited(answer: Answer, words: str, signed_in: str, now: float) -> RateLimitError | None:
    """The primary limit names its end; the secondary one a time to wait, or nothing."""
    if answer.status not in (403, 429):
        return None
    headers, place = answer.headers, answer.url.place
    if headers.get("X-RateLimit-Remaining", "") == "0":
        resets = _number(headers.get("X-RateLimit-Reset", ""), now + 60)
        limit = headers.get("X-RateLimit-Limit", "")[:10]
        more = "" if signed_in else " A token raises it to 5,000 an hour."
        return RateLimitError(
            f"The rate limit of {place} is used up ({limit} requests); it opens again "
            f"{_when(resets, now)}.{more}",
            resets,
            now,
        )
    waits = headers.get("Retry-After", "")
    if waits or answer.status == 429 or "rate limit" in words.lower():
        resets = now + _number(waits, 60)
        detail = f"{place} asks to slow down (secondary rate limit); try again"
        return RateLimitError(f"{detail} {_when(resets, now)}.", resets, now)
    return None


def _number(text: str, otherwise: float) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 12 else otherwise


def _when(at: float, now: float) -> str:
    minutes = max(1, math.ceil((at - now) / 60))
    clock = time.strftime("%H:%M UTC", time.gmtime(at))
    return f"in {minutes} minute{'s' if minutes > 1 else ''}, at {clock}"
