"""The official conformance suite against our client: in every run of the tests, where npm can
install it (`tests.mcp.published`)."""

from pathlib import Path

import pytest

from tests.mcp.conformance import results
from tests.mcp.published import SUITE, TABLE, VERSIONS, npm_packages

SCENARIOS = 20


@pytest.mark.timeout(900)
async def test_the_conformance_suite_passes_against_our_client(tmp_path: Path) -> None:
    npm_packages(SUITE)
    found = await results(tmp_path)
    failed = {name: said for name, said in found.items() if said}
    came = f"{len(found) - len(failed)} of {len(found)} passed"
    TABLE.put("conformance, scenarios for clients", VERSIONS[SUITE], came)
    assert len(found) == SCENARIOS, "docs/mcp.md says how many there are"
    assert not failed, "\n\n".join(f"{name}: {said[-3000:]}" for name, said in failed.items())
