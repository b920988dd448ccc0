"""What the harness has tried, and what came of it; printed at the end of the run."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Table:
    rows: dict[str, str] = field(default_factory=dict[str, str])

    def put(self, name: str, value: object) -> None:
        self.rows[name] = str(value)

    def faults(self, found: Counter[str]) -> None:
        for name, count in sorted(found.items()):
            self.put(name, count)

    def lines(self) -> list[str]:
        width = max((len(name) for name in self.rows), default=0)
        return [f"{name:<{width}}  {value}" for name, value in self.rows.items()]


TABLE = Table()


def share(values: list[float], percent: float) -> float:
    """The value below which `percent` of them lie."""
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))] if values else 0.0
