"""`CALL: <agent> <task>` in a text."""

import pytest

from shipmate.llm.directions import directions

KNOWN = ("explorer", "reviewer")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CALL: explorer find x", [("explorer", "find x")]),
        ("First.\nCALL:explorer\tfind x\nin src\n", [("explorer", "find x\nin src")]),
        (
            "CALL: explorer find x\n\nCALL: reviewer look at y",
            [("explorer", "find x"), ("reviewer", "look at y")],
        ),
        ("CALL: explorer\nthe task below", [("explorer", "the task below")]),
        ("CALL: nobody find x", []),
        ("CALL: explorer", []),
        ("Write CALL: explorer find x", []),
        ("  CALL: explorer find x", []),
        ("```\nCALL: explorer find x\n```", []),
        ("~~~\nCALL: explorer find x", []),
        ("```\n~~~\nCALL: explorer x\n```\nCALL: reviewer y", [("reviewer", "y")]),
        ("````\n```\nCALL: explorer x\n````\nCALL: reviewer y", [("reviewer", "y")]),
        ("call: explorer find x", []),
    ],
)
def test_a_call_stands_at_the_start_of_a_line_outside_of_code(
    text: str, found: list[tuple[str, str]]
) -> None:
    assert [(one.agent, one.task) for one in directions(text, KNOWN)] == found
