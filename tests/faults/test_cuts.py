"""A client's connection is cut at random bytes; it goes on from the last id it has."""

import math
import random
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.server import served
from tests.faults.reader import Reader
from tests.faults.table import TABLE
from tests.faults.trial import acknowledged
from tests.provider import Answer, Provider, call_reply, text_reply

TEXT = [f"{number} grüße 👋 " for number in range(200)]
CUTS, SAMPLE = 1000, 60
MOST = 20_000
"""Bytes that are read before a cut, at most: enough for the longest event."""


def far(dice: random.Random) -> int:
    """Bytes until the next cut: as often few as many."""
    return int(math.exp(dice.uniform(0, math.log(MOST))))


@pytest.fixture
def speaker(tmp_path: Path) -> Generator[Provider]:
    made = Provider()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("a\n")
    (tmp_path / "config.toml").write_text(
        f'[providers.fake]\ntype = "openai"\nbase_url = "{made.url}"\n'
        f'models = [{{ id = "m" }}]\n[projects.demo]\npath = "{tmp_path / "project"}"\n'
    )
    yield made
    made.close()
    assert made.broken == []


def queue_round(speaker: Provider) -> None:
    """Two reads with words before them, then a long text."""
    look = call_reply(("read_file", {"path": "a.txt"}), ("read_file", {"path": "b"}), text="Hm. ")
    speaker.queue(
        Answer(look, when='"tools"'), Answer(text_reply(*TEXT), split=400, delay=0.004, when="Hm.")
    )


@pytest.mark.timeout(1800)
def test_a_reader_that_is_cut_anywhere_misses_nothing_and_reads_nothing_twice(
    tmp_path: Path, speaker: Provider, full: bool
) -> None:
    dice, cuts, wanted = random.Random(11), 0, CUTS if full else SAMPLE
    gaps = duplicates = wrong = rounds = 0
    with served(tmp_path) as server:
        while cuts < wanted:
            rounds += 1
            queue_round(speaker)
            reader = Reader()
            new = {
                "provider": "fake/m",
                "project": "demo",
                "task": "Speak.",
                "client_id": str(cuts),
            }
            reader.session = acknowledged(server, new)
            while reader.follow(server, far(dice), attach=True) is None:
                cuts += 1
            view = server.api("GET", f"/api/agent/sessions/{reader.session}")
            assert reader.blocks == {block["id"]: block for block in view["blocks"]}
            texts = [
                block.get("text", "") for block in view["blocks"] if block["type"] == "message"
            ]
            assert texts == ["Hm. ", "".join(TEXT)]
            gaps, duplicates = gaps + reader.gaps, duplicates + reader.duplicates
            wrong += reader.wrong
    TABLE.put("cuts of the stream", f"{cuts} in {rounds} rounds")
    TABLE.put("cuts: gaps, duplicates, texts that differ", f"{gaps}, {duplicates}, {wrong}")
    assert (gaps, duplicates, wrong) == (0, 0, 0)
