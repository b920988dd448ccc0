"""usage: python -m scripts.pictures [NAME ...]     (in the clone, after `./dev setup`)

Needs Chromium (CHROMIUM names another one) and the optional package of the tests, Playwright.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from scripts.pictures import demo, house, talks
from scripts.pictures.studio import Studio, studio

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"
LIMIT = 180_000
"""Bytes a picture may have."""
COLOURS = 128
Scenes = Mapping[str, Callable[[Studio], Page]]
BARE: Scenes = demo.SCENES
FURNISHED: Scenes = house.SCENES | talks.SCENES
"""What was used is looked at before the talks use more."""


def small(picture: bytes) -> bytes:
    """With as many colours as a page needs, which is a quarter of the bytes."""
    image = Image.open(BytesIO(picture)).convert("RGB")
    made = BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return made.getvalue()


def shoot(studio: Studio, name: str, scene: Callable[[Studio], Page]) -> str:
    """Take one picture; what it weighs, in words."""
    page = scene(studio)
    if name not in ("palette", "find"):
        page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    page.evaluate("new Promise(requestAnimationFrame)")
    content = small(page.screenshot())
    page.close()
    studio.tidy()
    if len(content) > LIMIT:
        sys.exit(f"{name}.png has {len(content)} bytes, more than {LIMIT}: show less of the page")
    (FOLDER / f"{name}.png").write_bytes(content)
    return f"{name}.png {len(content) // 1000} kB"


def take(browser: Browser, names: list[str], scenes: Scenes, *, bare: bool) -> None:
    wanted = [name for name in scenes if not names or name in names]
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as folder, studio(browser, Path(folder), bare=bare) as made:
        for name in wanted:
            if name != "first-run" and not made.sessions():
                made.earlier()
            print(shoot(made, name, scenes[name]), flush=True)


def main(names: list[str]) -> None:
    known = [*BARE, *FURNISHED]
    if unknown := set(names) - set(known):
        sys.exit(f"no picture is called {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        take(browser, names, BARE, bare=True)
        take(browser, names, FURNISHED, bare=False)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
