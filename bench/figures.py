"""A measured figure beside its goal, and the table of all of them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str
    goal: float
    relay: float | None = None
    """The same, of the bare relay in this run."""
    at_least: bool = False
    """The goal is a lower bound."""

    @property
    def holds(self) -> bool:
        return self.value >= self.goal if self.at_least else self.value <= self.goal


def shown(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def cells(figure: Figure) -> tuple[str, ...]:
    relay = "" if figure.relay is None else shown(figure.relay)
    ratio = f"{figure.value / figure.relay:.1f} ×" if figure.relay else ""
    sign = "≥" if figure.at_least else "≤"
    value = f"{shown(figure.value)} {figure.unit}".strip()
    word = "" if figure.holds else "missed"
    return (figure.name, value, f"{sign} {shown(figure.goal)}", relay, ratio, word)


HEADER = ("", "shipmate", "goal", "relay", "of it", "")


def table(figures: Sequence[Figure]) -> str:
    rows = [HEADER, *map(cells, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)
