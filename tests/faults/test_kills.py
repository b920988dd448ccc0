"""A server is killed at every named point, and at any time, while a whole story is played.

The story: a message, two reads, a file, a command, a sub-agent with a command of its own, a
question, the answers, a queued message. A client follows all the time; after each kill the next
server is started and the story led on.
"""

import random
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shipmate.faults import POINTS
from tests.faults.table import TABLE, share
from tests.faults.trial import Trial

SAMPLE = (
    *("send.recorded", "record.before_commit:4", "stream.flushed", "call.started:2"),
    *("call.acted:4", "write.before_rename", "decide.recorded", "queue.next", "queue.said"),
    *("agent.begun:2", "agent.ended", "compact.asked", "dismiss.recorded"),
)
"""What is tried with every change."""
PASSED = sorted(name for name in POINTS if not name.startswith("restore."))
"""By a server."""
TIMES = 3
"""At which passing of a point a server is killed: the first, and up to this one."""
RANDOM = 160
SECONDS = 4.0
"""A random kill comes within this time after the start."""
AT_ONCE = 2


def trial(folder: Path, kill: str | float) -> Trial:
    """The story in which that point is passed."""
    name = str(kill).split(":")[0]
    before: list[str | float] = []
    if name.startswith(("recover.", "resume.")):
        before = ["stream.before_flush:2"]
    elif name.startswith("dismiss."):
        before = [""]
    return Trial(
        folder,
        [*before, kill],
        stops=name in ("stop.cut", "round.cut") or name.startswith("partial."),
        deletes=name.startswith("delete."),
        dismisses=name.startswith("dismiss."),
        compacts=name.startswith("compact."),
        terminates=name.startswith("shutdown."),
    )


def played(folder: Path, kills: Iterable[str | float]) -> list[Trial]:
    trials = [trial(folder / str(number), kill) for number, kill in enumerate(kills)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(Trial.run, trials))


def summed(trials: Iterable[Trial]) -> Counter[str]:
    """All faults by their name, those that never occurred too."""
    found = Counter[str]()
    for one in trials:
        found.update(one.faults)
    return found


def told(trials: Iterable[Trial]) -> list[str]:
    """All faults in words: which kill, and what came of it."""
    return [line for one in trials for line in one.told]


@pytest.mark.timeout(3600)
def test_a_kill_at_any_point_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, full: bool
) -> None:
    kills = list(SAMPLE)
    if full:
        kills = [f"{name}:{n}" for name in PASSED for n in range(1, TIMES + 1)]
    trials = played(tmp_path, kills)
    hit = {str(kill).split(":")[0] for kill, one in zip(kills, trials, strict=True) if died(one)}
    missed = {kill.split(":")[0] for kill in kills} - hit
    ready = [seconds for one in trials for seconds in one.ready]
    TABLE.put("kill points tried", f"{len(hit)} of {len(PASSED)}, {sum(map(died, trials))} kills")
    TABLE.put(
        "ready after a kill",
        f"least {min(ready):.2f} s, median {share(ready, 50):.2f} s, most {max(ready):.2f} s",
    )
    TABLE.faults(summed(trials))
    assert missed == set()
    assert told(trials) == []


@pytest.mark.timeout(3600)
def test_a_kill_at_any_time_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, full: bool
) -> None:
    dice = random.Random(7)
    trials = played(tmp_path, [dice.uniform(0.3, SECONDS) for _ in range(RANDOM if full else 2)])
    TABLE.put("kills at random times", sum(one.killed for one in trials))
    found = {f"{name}, random": count for name, count in summed(trials).items() if count}
    TABLE.faults(Counter(found))
    assert told(trials) == []


def died(one: Trial) -> bool:
    """It came to the kill that was meant, not only to the one before it."""
    return not one.kills and one.killed >= one.meant
