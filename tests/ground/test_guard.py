"""The tests themselves stay on this machine."""

import asyncio
import socket

import pytest


def test_a_connection_to_another_machine_fails_at_once() -> None:
    with socket.socket() as sock, pytest.raises(AssertionError, match=r"192\.0\.2\.1"):
        sock.connect(("192.0.2.1", 80))


async def test_one_made_by_asyncio_too() -> None:
    with pytest.raises(AssertionError, match=r"192\.0\.2\.1"):
        await asyncio.open_connection("192.0.2.1", 80)
