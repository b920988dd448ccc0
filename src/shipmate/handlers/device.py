"""What kind of device a browser says it runs on: enough to know one's sign-ins apart.

It is what the browser claims, kept as two short names and never as the whole line, which would
tell more of a person than is needed here.
"""

import re

from starlette.datastructures import Headers

BROWSERS = (
    ("Edge", r"\bEdg(e|A|iOS)?/"),
    ("Opera", r"\b(OPR|OPT|Opera)/"),
    ("Samsung Internet", r"\bSamsungBrowser/"),
    ("Firefox", r"\b(Firefox|FxiOS)/"),
    ("Chrome", r"\b(Chrome|CriOS|Chromium|HeadlessChrome)/"),
    ("Safari", r"\bVersion/[\d.]+.*\bSafari/"),
)
SYSTEMS = (
    ("iPhone", r"\biPhone\b"),
    ("iPad", r"\biPad\b"),
    ("Android", r"\bAndroid\b"),
    ("Windows", r"\bWindows\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("macOS", r"\bMac OS X\b|\bMacintosh\b"),
    ("Linux", r"\bLinux\b|\bX11\b"),
)
LONGEST = 1_000
"""Characters that are looked at."""


def device_of(headers: Headers) -> str:
    """`Firefox, Linux`; only what was recognised, and empty where nothing was."""
    said = headers.get("user-agent", "")[:LONGEST]
    found = (
        next((name for name, pattern in names if re.search(pattern, said)), "")
        for names in (BROWSERS, SYSTEMS)
    )
    return ", ".join(name for name in found if name)
