"""What was tried to get in or out, how often, and what came of it: `./dev test --safety`.

A test that is marked `safety` puts one row: how many were tried, and how many went wrong (0). One
that is marked `safety("row")` is a try of that row itself, and wrong where it fails.
"""

from dataclasses import dataclass, field


@dataclass
class Board:
    rows: dict[str, tuple[int, int, str]] = field(default_factory=dict[str, tuple[int, int, str]])

    def put(self, name: str, tried: int, wrong: int, note: str = "") -> None:
        """`wrong`: let in, let out, or judged wrongly."""
        self.rows[name] = tried, wrong, note

    def count(self, name: str, *, wrong: bool) -> None:
        """One more try of a row."""
        tried, before, note = self.rows.get(name, (0, 0, ""))
        self.rows[name] = tried + 1, before + wrong, note

    def lines(self) -> list[str]:
        width = max((len(name) for name in self.rows), default=0)
        return [
            f"{name:<{width}}  {tried:>8,} tried  {wrong:>4} wrong  {note}".rstrip()
            for name, (tried, wrong, note) in sorted(self.rows.items())
        ]


BOARD = Board()
