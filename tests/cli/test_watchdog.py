"""An event loop that is held up is told, with the place that holds it up (FM017)."""

import asyncio
import time

import pytest

from shipmate.cli.watchdog import watched


async def until(said: str, caplog: pytest.LogCaptureFixture) -> None:
    while said not in caplog.text:
        await asyncio.sleep(0.01)


def in_the_way_of_all(caplog: pytest.LogCaptureFixture) -> None:
    """Holds the loop up until that is told."""
    while "held up" not in caplog.text:
        time.sleep(0.01)


async def test_what_holds_up_the_loop_is_named_and_that_it_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with watched(asyncio.get_running_loop(), patience=0.2, every=0.01):
        in_the_way_of_all(caplog)
        await until("went on after", caplog)
    assert "in_the_way_of_all" in caplog.text


async def test_a_loop_that_answers_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with watched(asyncio.get_running_loop(), patience=20, every=0.001):
        for _ in range(50):
            await asyncio.sleep(0.001)
    assert caplog.text == ""
