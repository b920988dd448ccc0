"""Every case of faults and of sessions is named by tests, and those tests are there."""

import re
import tomllib
from typing import Any

from tests.reports import CASES, cases, reports

TESTS = CASES.parent
KINDS = ("crash", "stream", "store", "provider", "tools", "control")
NAMED: dict[str, dict[str, Any]] = tomllib.loads((CASES / "named.toml").read_text("utf-8"))
LATER: dict[str, str] = NAMED.pop("later")


def test_every_case_is_named_or_waits_for_a_feature() -> None:
    faults = {case["id"]: case["area"] for case in cases("faults")}
    wanted = {
        **{name: area for name, area in faults.items() if area in KINDS},
        **dict.fromkeys(reports("session"), "session"),
    }
    found = {name: area for area, ids in NAMED.items() for name in ids}
    assert found | {name: wanted[name] for name in LATER} == wanted
    assert not set(found) & set(LATER)


def test_the_tests_that_are_named_are_there() -> None:
    texts: dict[str, str] = {}
    for ids in NAMED.values():
        for case, tests in ids.items():
            assert tests, case
            for test in tests:
                file, _, name = test.partition("::")
                text = texts.setdefault(file, (TESTS / file).read_text("utf-8"))
                assert re.search(rf"^(async )?def {name}\(|^{name} = ", text, re.MULTILINE), test
