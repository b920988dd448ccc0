"""Random trees of links: a path is taken to lead exactly where the kernel takes it."""

import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.safety.paths import decide_path

NAMES = st.sampled_from(["a", "b", "c", "..", ".", "proj", "out"])
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
PLACES = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join)
ENTRIES = st.lists(
    st.tuples(st.sampled_from(["proj", "out"]), PLACES, st.sampled_from("fdla"), PATHS), max_size=12
)


def build(base: Path, entries: list[tuple[str, str, str, str]]) -> None:
    """Files, folders, relative and absolute links; what cannot be made is left out."""
    for side, place, kind, target in entries:
        path = base / side / place
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "f":
                path.touch()
            elif kind == "d":
                path.mkdir()
            else:
                path.symlink_to(base / target if kind == "a" else target)
        except OSError:
            continue


def kernel(path: str) -> Path | None:
    """Where the kernel arrives; None where it does not."""
    try:
        descriptor = os.open(path, os.O_PATH)
    except OSError:
        return None
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    finally:
        os.close(descriptor)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel by O_PATH")
@given(ENTRIES, PATHS, st.booleans())
@settings(max_examples=300)
def test_a_path_leads_where_the_kernel_takes_it(
    entries: list[tuple[str, str, str, str]], path: str, absolute: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder).resolve()
        root = base / "proj"
        for side in ("proj", "out"):
            (base / side).mkdir()
        build(base, entries)
        asked = f"{root}/{path}" if absolute else path
        found = decide_path("search", asked, root)
        real = kernel(f"{root}/{path}")
        if real is None:  # `..` after what is not there is taken as text, and stays inside
            climbs = any(".." in text for text in (path, *(target for *_, target in entries)))
            assert not found.usable or (climbs and found.real.is_relative_to(root))
        elif real.is_relative_to(root):
            assert (found.verdict, found.real) == ("allow", real)
        else:
            assert found.verdict == "deny"
