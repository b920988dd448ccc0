"""The table of what ran against what, at the end of `./dev test --mcp`."""

import pytest

from tests.mcp.published import TABLE


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TABLE.rows:
        terminalreporter.write_sep("-", "MCP: what ran against what")
        wide = [max(len(row[n]) for row in TABLE.rows) for n in (0, 1)]
        for what, version, came in TABLE.rows:
            terminalreporter.write_line(f"{what:<{wide[0]}}  {version:<{wide[1]}}  {came}")
