"""Characters that make a command look other than it is."""

import re
from collections.abc import Iterator

from shipmate.safety.shell.risk import Finding, ask, danger

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ue000-\ue00f\u2028\u2029"
    "\U000e0000-\U000e007f\U0001d173-\U0001d17a]"
)
JOINER = re.compile("(?<![\u0100-\U0010ffff])\u200d|\u200d(?![\u0100-\U0010ffff])")
BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
LONE = re.compile("[\ud800-\udfff]")


def appearance(command: str) -> Iterator[Finding]:
    """What the eye would not see."""
    if CONTROLS.search(command.replace("\r\n", "\n")):
        yield danger("control-characters", "The command holds control characters.")
    if INVISIBLE.search(command) or JOINER.search(command):
        yield danger("invisible", "The command holds invisible or direction-changing characters.")
    if "\r\n" in command or BLANKS.search(command) or LONE.search(command):
        yield ask("odd-characters", "The command holds unusual blanks or line ends.")
