"""Leaves one means of confinement, as on a system that has no other."""

import pytest

from shipmate.safety.sandbox import bubblewrap, found, seccomp


def only(means: str, patch: pytest.MonkeyPatch) -> None:
    """`bubblewrap`, `landlock` or `none`; the trials are made anew."""
    patch.setattr(found, "_TRIED", {})
    if means != "bubblewrap":
        patch.setattr(bubblewrap, "installed", lambda: "")
    if means == "none":
        patch.setattr(seccomp, "known", lambda: False)
