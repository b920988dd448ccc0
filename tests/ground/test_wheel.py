"""What is packed for `pip install`."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import web_build

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(web_build.is_stale(), reason="the page is not built; ./dev test builds it")
def test_the_wheel_carries_the_built_page_and_the_licence(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "shipmate/static/index.html" in names
    assert any(name.startswith("shipmate/static/assets/") for name in names)
    assert "shipmate/py.typed" in names
    assert {Path(name).name for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}
    assert not [name for name in names if name.startswith(("tests/", "web/"))]
