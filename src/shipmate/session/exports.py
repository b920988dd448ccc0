"""A session as a document: JSON to be imported again, Markdown, a page that needs no server."""

import base64
import hashlib
import html
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import msgspec

from shipmate.database.store import Kept
from shipmate.protocol import Attachment, ImageDetail, SessionRow, ToolResult, decode_kept, encode
from shipmate.safety.redaction import GONE, counted, redacted_struct
from shipmate.safety.unseen import visible
from shipmate.session.pieces import Part, Piece, pieces

Format: TypeAlias = Literal["md", "html", "json"]
LoadFile: TypeAlias = Callable[[str], bytes | None]
"""A stored file by its id; None when it is gone."""

FORMAT = 1
"""Number of the JSON format; a change that an older reader would misread raises it."""
KINDS = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
}
_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
_FENCE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^\n]*(?:\n|\Z)(.*?)(^ {0,3}\1[`~]*[ \t]*$\n?|\Z)", re.M | re.S
)
"""What is not seen, or turns the order of what is: it is named where a command is shown."""


class Exported(msgspec.Struct, kw_only=True):
    """What `imports.Document` reads."""

    shipmate: int = FORMAT
    redacted: int = 0
    """Secrets that were taken out."""
    session: SessionRow
    blocks: list[msgspec.Raw]
    files: dict[str, bytes]


def export(row: SessionRow, kept: Sequence[Kept], form: Format, load: LoadFile) -> bytes:
    """The whole session without secrets; it says how many were taken out. Blocks for a worker
    thread when it is long."""
    row, kept, gone = _without_secrets(row, kept)
    if form == "json":
        files = {file: content for file in _files(kept) if (content := load(file))}
        blocks = [msgspec.Raw(one.json) for one in kept]
        return encode(Exported(redacted=gone, session=row, blocks=blocks, files=files))
    found = [piece for one in kept for piece in pieces(decode_kept(one.json), one)]
    if form == "md":
        return _markdown(row, found, _told(gone)).encode(errors="replace")
    return _page(row, found, load, _told(gone)).encode(errors="replace")


def _without_secrets(
    row: SessionRow, kept: Sequence[Kept]
) -> tuple[SessionRow, Sequence[Kept], int]:
    """In every block as it is kept, so that no format can show one; how many there were."""
    total, cleared = 0, list[Kept]()
    for one in kept:
        text, gone = counted(one.json.decode(errors="surrogateescape"))
        json = text.encode(errors="surrogateescape")
        cleared.append(replace(one, json=json) if gone else one)
        total += gone
    return redacted_struct(row), cleared, total


def _told(gone: int) -> str:
    return f"{gone:,} secret{'s' * (gone != 1)} left out, shown as {GONE}" if gone else ""


def file_name(row: SessionRow, form: Format) -> str:
    """A name for the file that is safe everywhere."""
    words = re.sub(r"[^\w.-]+", "-", row.title).strip("-.")[:60] or row.id
    return f"{words}.{form}"


def image_type(content: bytes) -> str:
    """The kind of a picture, by its first bytes; "" when it is none."""
    return next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), "")


def _files(kept: Iterable[Kept]) -> dict[str, None]:
    """Ids of the stored files that the blocks show."""
    found: dict[str, None] = {}
    for one in kept:
        match decode_kept(one.json) if one.type in ("attachment", "tool_result") else None:
            case Attachment(file=file) if file:
                found[file] = None
            case ToolResult(details=ImageDetail(file=file)) if file:
                found[file] = None
            case _:
                pass
    return found


def _when(at: int) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at / 1000))
    except (OverflowError, ValueError, OSError):  # no year a calendar knows
        return ""


def _about(row: SessionRow) -> str:
    known = (row.project, row.provider, row.agent, _when(row.created_at))
    return " · ".join(word for word in known if word)


# --- Markdown ----------------------------------------------------------------------------


def _markdown(row: SessionRow, found: Iterable[Piece], told: str) -> str:
    title = row.title.replace("\n", " ") or row.id
    lines = [f"# {title}", "", _about(row), *(("", told) if told else ()), ""]
    for piece in found:
        lines += [f"## {visible(piece.heading)}".replace("\n", " "), ""]
        for part in piece.parts:
            lines += [_markdown_part(part), ""]
    return "\n".join(lines)


def _markdown_part(part: Part) -> str:
    match part.style:
        case "code":
            longest = max(map(len, re.findall("`{3,}", part.text)), default=2)
            fence = "`" * (longest + 1)
            return f"{fence}\n{visible(part.text)}\n{fence}"
        case "note":
            return "\n".join(f"> {line}" for line in part.text.split("\n"))
        case "image":
            return f"(picture {part.text})"
        case _:
            return _shut(part.text)


def _shut(text: str) -> str:
    """With the fence closed that a message left open which was cut off: what follows is no
    code."""
    left = [fence[1] for fence in _FENCE.finditer(text) if not fence[3]]
    return f"{text}\n{left[0]}" if left else text


# --- a page ------------------------------------------------------------------------------

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em;
  color: #1c1c1c; background: #fff; overflow-wrap: anywhere }
h1 { font-size: 1.5em } h2 { font-size: .95em; margin: 1.5em 0 .3em; color: #555 }
.user p { background: #eef3fb; border-radius: .5em; padding: .6em .8em }
p { white-space: pre-wrap; margin: .4em 0 } .note { color: #666; font-size: .9em }
pre { background: #f5f5f4; border: 1px solid #ddd; border-radius: .4em; padding: .6em .8em;
  white-space: pre-wrap; font-size: .85em; max-height: 30em; overflow: auto; margin: .4em 0 }
img { max-width: 100% } .error h2 { color: #a11 }
@media print { pre { max-height: none } h2 { break-after: avoid } body { margin: 0 } }
@media (prefers-color-scheme: dark) { @media screen {
  body { color: #ddd; background: #1a1a1a } h2, .note { color: #aaa }
  .user p { background: #26303f } pre { background: #242424; border-color: #444 } } }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
PAGE_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""Nothing but its own style and the pictures in it; no script, no request."""


def _page(row: SessionRow, found: Iterable[Piece], load: LoadFile, told: str) -> str:
    title = html.escape(row.title or row.id)
    body = "\n".join(_section(piece, load) for piece in found)
    about = "".join(
        f'<p class="note">{html.escape(line)}</p>' for line in (_about(row), told) if line
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(PAGE_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width"><meta name="robots" '
        f'content="noindex"><meta name="referrer" content="no-referrer">\n<title>{title}</title>'
        f'<style>{_STYLE}</style></head>\n<body><h1 dir="auto">{title}</h1>'
        f"{about}\n{body}\n</body></html>\n"
    )


def _section(piece: Piece, load: LoadFile) -> str:
    inner = "".join(_html_part(part, load) for part in piece.parts)
    heading = html.escape(visible(piece.heading))
    return f'<section class="{piece.kind}"><h2 dir="auto">{heading}</h2>{inner}</section>'


def _html_part(part: Part, load: LoadFile) -> str:
    match part.style:
        case "code":
            return f"<pre>{html.escape(visible(part.text))}</pre>"
        case "note":
            return f'<p class="note" dir="auto">{html.escape(part.text)}</p>'
        case "image":
            return _picture(load(part.text))
        case _:
            return _prose(part.text)


def _prose(text: str) -> str:
    """Paragraphs as they were written, code in its box."""
    made: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        made += [_paragraph(text[end : fence.start()]), f"<pre>{html.escape(fence[2])}</pre>"]
        end = fence.end()
    return "".join([*made, _paragraph(text[end:])])


def _paragraph(text: str) -> str:
    text = text.strip("\n")
    return f'<p dir="auto">{html.escape(text)}</p>' if text else ""


def _picture(content: bytes | None) -> str:
    kind = image_type(content) if content else ""
    if not content or not kind:
        return '<p class="note">(a picture that is not there any more)</p>'
    return f'<img alt="" src="data:{kind};base64,{base64.b64encode(content).decode()}">'
