"""What the tests of the network stand on: a name server that answers as it is told."""

from collections.abc import Sequence
from itertools import chain, repeat

from shipmate.network.request import Resolver
from shipmate.safety.net import refused_address

PUBLIC = "127.0.0.2"
"""Stands for the public network: a site of a test must be reachable without one."""


class Names(Resolver):
    """Gives each answer once, in order; the last one for ever. Remembers what it was asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = chain(answers, repeat(answers[-1]))
        self.asked: list[str] = []

    async def addresses(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return list(next(self._answers))


def refused(address: str) -> str:
    return "" if address == PUBLIC else refused_address(address)
