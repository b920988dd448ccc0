"""Thinking that a model writes into its answer, between tags."""

import re

_OPEN = ("<think>", "<thinking>")
_CLOSE = re.compile(r"</think(?:ing)?>")
_LONGEST_CLOSE = len("</thinking>")


class ThinkTags:
    """Takes apart thinking and answer while they stream. Only a tag that opens the answer
    counts: a tag further on is text. What may still become a tag is held back."""

    def __init__(self) -> None:
        self._held = ""
        self._inside = False
        self._closed = False
        """The blank lines between the closing tag and the answer are dropped."""
        self.settled = False
        """The answer has begun: what follows is text as it is."""

    def feed(self, text: str) -> tuple[str, str]:
        """The text and the thinking that are certain with `text`."""
        self._held += text
        if not (self.settled or self._inside or self._closed):
            self._open()
        thinking = self._think() if self._inside else ""
        if self._closed and not self.settled:
            self._held = self._held.lstrip("\r\n")
            self.settled = bool(self._held)
        return (self._release() if self.settled else ""), thinking

    def end(self) -> tuple[str, str]:
        """What was held back: no more is coming."""
        return ("", self._release()) if self._inside else (self._release(), "")

    def _open(self) -> None:
        start = self._held.lstrip()
        for tag in _OPEN:
            if start.startswith(tag):
                self._held, self._inside = start[len(tag) :], True
                return
        if not any(tag.startswith(start) for tag in _OPEN):
            self.settled = True

    def _think(self) -> str:
        close = _CLOSE.search(self._held)
        if close:
            thinking, self._held = self._held[: close.start()], self._held[close.end() :]
            self._inside, self._closed = False, True
            return thinking
        tail = self._held.rfind("<", -_LONGEST_CLOSE)
        cut = tail if tail >= 0 else len(self._held)
        thinking, self._held = self._held[:cut], self._held[cut:]
        return thinking

    def _release(self) -> str:
        text, self._held = self._held, ""
        return text
