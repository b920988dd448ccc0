"""Characters that hide, or make text look other than it is, and the text with them spelled out."""

import re

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ue000-\ue00f\U000e0000-\U000e007f"
    "\U0001d173-\U0001d17a"
)
"""As the inside of a set: no width, fillers, directions, tags. Not the joiner of emoji (U+200D)."""
_SPELLED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200d{INVISIBLE}]")


def visible(text: str) -> str:
    """Text in which nothing steers a terminal or hides: `[U+202E]`. Tabs and line feeds stay."""
    return _SPELLED.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
