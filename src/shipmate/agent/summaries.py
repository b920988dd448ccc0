"""What a summary hides, where it stands, and how it is told to the model."""

import math

from shipmate.protocol import AnyBlock, Summary

SUMMARY = "[Summary of the earlier conversation, which is left out]"
FACTS = "[Kept beside the summary]"


def hides(summary: Summary, block: AnyBlock) -> bool:
    first, last = summary.replaces
    return not isinstance(block, Summary) and block.pos > 0 and first <= block.pos <= last


def covers(later: Summary, earlier: Summary) -> bool:
    """`later` replaces all that `earlier` did."""
    (first, last), (inner, end) = later.replaces, earlier.replaces
    return later.pos > earlier.pos and first <= inner and end <= last


def place_of(block: AnyBlock) -> float:
    """Where it stands; a summary stands where what it replaces stood."""
    if isinstance(block, Summary):
        return block.replaces[0] - 0.5
    return block.pos or math.inf


def summary_text(summary: Summary) -> str:
    facts = f"\n\n{FACTS}\n{summary.facts}" if summary.facts else ""
    return f"{SUMMARY}\n{summary.text}{facts}"
