"""From the bytes of an answer to a text that a model can read: by their type, then by what they
are."""

import asyncio
import html
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from shipmate.tools.charset import decode_page
from shipmate.tools.decode import kind_of

CONVERTER: Final = Path(__file__).with_name("converter.py")
SECONDS: Final = 20.0
"""For the conversion of one page."""
LITTLE: Final = 200
"""Characters; a page with scripts and less text than this is probably made by them."""
_TITLE: Final = re.compile(r"<title[^>]{0,200}>([^<]{0,2000})", re.I)
_HTML: Final = re.compile(
    rb"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body|title|meta|script|h1|div|p)\b",
    re.I | re.S,
)
_TEXTUAL: Final = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|javascript|ecmascript|toml|sql|x-ndjson|graphql)"
    r"|application/(?:x-)?(?:sh|httpd-php|yaml|javascript|latex|tex|subrip)|image/svg\+xml|message/.*"
)
_NEEDED: Final = ("LD_LIBRARY_PATH", "SYSTEMROOT")
"""Of the environment, for Python itself to start."""
Kind: TypeAlias = Literal["html", "pdf", "text", "binary", "empty"]


@dataclass(frozen=True, slots=True)
class Page:
    """What an answer says. `text` is empty where there is nothing to read; `note` says why."""

    kind: Kind
    text: str = ""
    title: str = ""
    note: str = ""


def kind_of_page(data: bytes, content_type: str) -> Kind:
    """The type is believed unless the bytes cannot be that."""
    if not data.strip():
        return "empty"
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    kind = _named(content_type.partition(";")[0].strip().lower(), data)
    return kind if kind in ("html", "text") and _is_text(data) else "binary"


def _named(name: str, data: bytes) -> Kind:
    if name in ("text/html", "application/xhtml+xml"):
        return "html"
    if _TEXTUAL.fullmatch(name):
        return "text"
    if name not in ("", "application/octet-stream", "unknown/unknown"):
        return "binary"
    return "html" if _HTML.match(data) else "text"


async def read_page(data: bytes, headers: Mapping[str, str], address: str) -> Page:
    """The page; never raises for what is in it."""
    content_type = headers.get("Content-Type", "")
    kind = kind_of_page(data, content_type)
    match kind:
        case "empty":
            return Page(kind, note="There is no readable text: the answer is empty.")
        case "text":
            return Page(kind, decode_page(data, content_type))
        case "html":
            return await _html(decode_page(data, content_type), address)
        case "pdf":
            text, fault = await _converted("pdf", data, address)
            reason = fault or "it holds pictures of text, or a password is needed"
            note = "" if text.strip() else f"No readable text was found in this PDF: {reason}."
            return Page(kind, text, note=_or_download(note))
        case "binary":
            what = content_type.partition(";")[0].strip() or kind_of(data)
            return Page(kind, note=_or_download(f"This is {what}, not text."))


async def _html(source: str, address: str) -> Page:
    text, fault = await _converted("html", source.encode(), address)
    found = _TITLE.search(source)
    title = " ".join(html.unescape(found[1]).split()) if found else ""
    if fault:
        return Page("html", title=title, note=f"The page could not be read: {fault}.")
    text = text.strip()
    note = ""
    if len(text) < LITTLE and "<script" in source.lower():
        note = (
            "There is little or no readable text: the page is made by scripts, which are not run."
        )
    elif not text:
        note = "There is no readable text on the page."
    return Page("html", text, title, note)


async def _converted(kind: Kind, data: bytes, address: str) -> tuple[str, str]:
    """Text, and why there is none."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-B", str(CONVERTER), kind, address),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _NEEDED if name in os.environ},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(SECONDS):
            out, _ = await process.communicate(data)
    except TimeoutError:
        return "", f"it took longer than {SECONDS:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    fault = "" if process.returncode == 0 else "it is damaged, or too large"
    return out.decode("utf-8", "replace"), fault


def _is_text(data: bytes) -> bool:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return b"\0" not in data[:65_536] and kind_of(data) == "binary data"


def _or_download(note: str) -> str:
    return f"{note} download_file saves it in the project." if note else ""
