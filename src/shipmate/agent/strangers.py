"""What strangers wrote: pages and files of the network, and whatever else came from outside.

A result that holds such text is marked (`ToolResult.untrusted`), and stands between marks in what
the model is sent. A session that has read it is wary: no rule and no setting approves a command or
anything of the network ahead, until the user says that it may.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from shipmate.protocol import AnyBlock, Attachment, System, ToolResult

TRUSTED: Final = "trusted"
"""`code` of the notice with which the user gave a session its automatic approvals back."""
UNTRUSTED: Final = "untrusted"
"""`code` of the notice with which the user took them away."""
IMPORTED: Final = "import"
"""`code` of the notice that ends what a file brought: its maker may have written all of it."""
DATA: Final = "untrusted-data"
INSTRUCTIONS: Final = "project-instructions"
ATTACHMENT: Final = "attachment"
_UNSEEN: Final = (
    r"[\s\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]*"
)
"""Blanks, and characters that show nothing: a model reads past them."""
_NAMES: Final = "|".join(_UNSEEN.join(name) for name in (DATA, INSTRUCTIONS, ATTACHMENT))
_MARK: Final = re.compile(rf"[<\uff1c\ufe64](?={_UNSEEN}[/\uff0f]?{_UNSEEN}(?:{_NAMES}))", re.I)


@dataclass(slots=True)
class Strangers:
    """Of a session, with all its threads."""

    wary: bool = False
    calls: set[str] = field(default_factory=set[str])
    """Calls whose results strangers wrote."""

    def add(self, block: AnyBlock) -> None:
        self.wary = self.wary or from_strangers(block)
        match block:
            case ToolResult(untrusted=True):
                self.calls.add(block.call)
            case System(code=code) if code in (TRUSTED, UNTRUSTED, IMPORTED):
                self.wary = code != TRUSTED
            case _:
                pass


def from_strangers(block: AnyBlock) -> bool:
    """Whether strangers wrote what the model reads of it."""
    match block:
        case ToolResult(untrusted=untrusted):
            return untrusted
        case Attachment(kind=kind):
            return kind in ("issue", "pull_request")
        case _:
            return False


def marked(text: str, name: str = DATA) -> str:
    """The text between marks that it cannot write itself; always the same for the same text."""
    inner = _MARK.sub(r"<\\", text)
    return f"<{name}>\n{inner}\n</{name}>"


def trust(*, given: bool) -> System:
    """The notice of the user's decision."""
    if given:
        text = "You gave this conversation its automatic approvals back."
        return System(text=text, code=TRUSTED)
    text = "You marked this conversation: it runs nothing of the network, and no command, unasked."
    return System(text=text, code=UNTRUSTED)
