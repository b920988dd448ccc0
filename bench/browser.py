"""What the page costs a browser: bytes, processor, nodes, memory. Asked of Chromium itself.

Times are of the processor (`threadTicks`), so that a busy machine changes them little; memory is
what is left after a collection of garbage.
"""

import gzip
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin
from urllib.request import urlopen

from playwright.sync_api import CDPSession, Page

from tests.cli.server import Served

FRAMES = """() => {
  window.frames_ = 0;
  const next = () => { window.frames_ += 1; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}"""
KEYS = """(box) => {
  window.keys_ = [];
  box.addEventListener("keydown", (event) => {
    const pressed = event.timeStamp;
    requestAnimationFrame(() => window.keys_.push(performance.now() - pressed));
  });
}"""


@dataclass(frozen=True)
class Weight:
    """kB, compressed, of what the page loads before anything is done on it."""

    script: float
    style: float


def weight(page: Page, server: Served) -> Weight:
    """Of the page that is open, just loaded."""
    names: list[str] = page.evaluate(
        "performance.getEntriesByType('resource').map(one => new URL(one.name).pathname)"
    )
    tags = "[...document.querySelectorAll('script[src], link[rel=stylesheet]')]"
    names += page.evaluate(f"{tags}.map(one => new URL(one.src ?? one.href).pathname)")
    sums = {"js": 0, "css": 0}
    for name in sorted(set(names)):
        found = re.search(r"\.(js|css)$", name)
        if found and "highlight.worker" not in name:
            with urlopen(urljoin(server.url, name)) as answer:
                sums[found[1]] += len(gzip.compress(answer.read(), 9))
    return Weight(sums["js"] / 1000, sums["css"] / 1000)


class Meter:
    """The browser's own figures of one page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.cdp: CDPSession = page.context.new_cdp_session(page)
        self.ask("Performance.enable", timeDomain="threadTicks")

    def ask(self, method: str, **fields: Any) -> dict[str, Any]:
        cdp: Any = self.cdp  # its types are partly unknown
        return cdp.send(method, fields)

    def seconds(self, name: str) -> float:
        found: list[dict[str, Any]] = self.ask("Performance.getMetrics")["metrics"]
        return next(float(one["value"]) for one in found if one["name"] == name)

    def heap(self) -> float:
        """MB in use after a collection."""
        for _ in range(2):
            self.ask("HeapProfiler.collectGarbage")
        return float(self.ask("Runtime.getHeapUsage")["usedSize"]) / 1e6

    def nodes(self) -> int:
        return int(self.page.evaluate("document.getElementsByTagName('*').length"))
