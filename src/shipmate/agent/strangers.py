"""What strangers wrote: pages and files of the network, and whatever else came from outside.

A result that holds such text is marked (`ToolResult.untrusted`), and stands between marks in what
the model is sent. A session that has read it is wary: no rule and no setting approves a command or
anything of the network ahead, until the user says that it may.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from shipmate.protocol import AnyBlock, System, ToolResult

TRUSTED: Final = "trusted"
"""`code` of the notice with which the user gave a session its automatic approvals back."""
UNTRUSTED: Final = "untrusted"
"""`code` of the notice with which the user took them away."""
DATA: Final = "untrusted-data"
INSTRUCTIONS: Final = "project-instructions"
_MARK: Final = re.compile(rf"<(?=\s*/?\s*(?:{DATA}|{INSTRUCTIONS}))", re.I)


@dataclass(slots=True)
class Strangers:
    """Of a session, with all its threads."""

    wary: bool = False
    calls: set[str] = field(default_factory=set[str])
    """Calls whose results strangers wrote."""

    def add(self, block: AnyBlock) -> None:
        match block:
            case ToolResult(untrusted=True):
                self.wary = True
                self.calls.add(block.call)
            case System(code=code) if code in (TRUSTED, UNTRUSTED):
                self.wary = code == UNTRUSTED
            case _:
                pass


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
