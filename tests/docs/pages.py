"""The fenced blocks of the documentation, and which runner claims each."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LANGUAGES = ("sh", "toml", "json", "python", "sse", "tool", "markdown")
"""Each has a runner in `test_examples` or `test_stream_examples`."""
_FENCE = re.compile(r"^( *)```(.*)$")
_MARKER = re.compile(r"^<!-- not run: (\S.*) -->$")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True)
class Example:
    page: str
    """Path from the root of the clone."""
    line: int
    """Of the first line of its text."""
    language: str
    text: str
    reason: str = ""
    """Why it is not run, as the marker before it says."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(text: str, page: str) -> list[Example]:
    """All fenced blocks of a page. One that is not closed is an error."""
    found: list[Example] = []
    inside: tuple[int, str, str] | None = None
    taken: list[str] = []
    before = ""
    for number, line in enumerate(text.split("\n"), 1):
        fence = _FENCE.match(line)
        if fence is None:
            if inside is not None:
                taken.append(line)
            elif line.strip():
                before = line
        elif inside is None:
            marker = _MARKER.match(before)
            inside = number + 1, fence[2].strip(), marker[1] if marker else ""
            taken, before = [], ""
        else:
            first, language, reason = inside
            found.append(Example(page, first, language, "".join(f"{t}\n" for t in taken), reason))
            inside = None
    assert inside is None, f"{page}: the block at line {inside and inside[0]} is not closed"
    return found


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


EXAMPLES = [e for page in PAGES for e in blocks(page.read_text("utf-8"), name_of(page))]
SPANS = [
    (name_of(page), span)
    for page in PAGES
    for span in _SPAN.findall(prose(page.read_text("utf-8")))
]
"""Page and text of each piece of code within a sentence."""


def of(language: str) -> list[Example]:
    return [e for e in EXAMPLES if e.language == language and not e.reason]
