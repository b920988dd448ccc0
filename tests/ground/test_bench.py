"""The bench: its own parts, small."""

import sys
from pathlib import Path

import pytest

from bench.client import listen, percentile
from bench.figures import Figure, table
from bench.product import Place, provider, relay


def test_a_figure_holds_up_to_its_goal() -> None:
    assert Figure("", 5.0, "ms", 5).holds
    assert not Figure("", 5.1, "ms", 5).holds
    assert Figure("", 60_000, "/s", 60_000, at_least=True).holds
    assert not Figure("", 59_999, "/s", 60_000, at_least=True).holds


def test_the_table_shows_the_goal_the_relay_and_what_was_missed() -> None:
    lines = table([Figure("a", 2, "ms", 1, 0.5), Figure("b", 70_000, "/s", 60_000, at_least=True)])
    head, _, a, b = lines.split("\n")
    assert head.split() == ["shipmate", "goal", "relay", "of", "it"]
    assert a.split() == ["a", "2", "ms", "≤", "1", "0.5", "4.0", "×", "missed"]
    assert b.split() == ["b", "70,000", "/s", "≥", "60,000"]


def test_percentiles_are_of_the_sorted_values() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0


@pytest.mark.skipif(sys.platform != "linux", reason="measures processes by /proc")
async def test_every_token_of_the_provider_passes_the_relay(tmp_path: Path) -> None:
    with provider(tmp_path) as answering, relay(Place(tmp_path, answering.said["url"])) as server:
        flat = await listen(server.target, "flat-2000")
        paced = await listen(server.target, "rate-1000-20")
        assert len(flat.text) == 2000 * 4
        assert len(paced.latencies()) == 20
        assert all(0 <= wait < 5000 for wait in paced.latencies())
        assert server.process.cpu() > 0
        assert server.process.memory() > 5
