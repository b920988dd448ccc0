"""Characters that make a command look other than it is."""

import re
from collections.abc import Iterator

from shipmate.safety.shell.risk import Finding, ask, danger
from shipmate.safety.unseen import INVISIBLE

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
HIDING = re.compile(f"[{INVISIBLE}]")
JOINER = re.compile("(?<![\u0100-\U0010ffff])\u200d|\u200d(?![\u0100-\U0010ffff])")
BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
LONE = re.compile("[\ud800-\udfff]")


def appearance(command: str) -> Iterator[Finding]:
    """What the eye would not see."""
    if CONTROLS.search(command.replace("\r\n", "\n")):
        yield danger("control-characters", "The command holds control characters.")
    if HIDING.search(command) or JOINER.search(command):
        yield danger("invisible", "The command holds invisible or direction-changing characters.")
    if "\r\n" in command or BLANKS.search(command) or LONE.search(command):
        yield ask("odd-characters", "The command holds unusual blanks or line ends.")
