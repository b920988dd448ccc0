"""How often it is tried, and the table at the end."""

import pytest

from tests.faults.table import TABLE


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """The counts that are claimed, not a sample."""
    return bool(request.config.getoption("--faults"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TABLE.rows:
        terminalreporter.write_sep("-", "faults")
        for line in TABLE.lines():
            terminalreporter.write_line(line)
