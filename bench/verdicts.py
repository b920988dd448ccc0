"""How long it takes to judge a command, and to find the rules that decide it."""

import json
import time
from pathlib import Path

from bench.client import percentile
from bench.figures import Figure
from bench.rows import Bench
from shipmate.safety.rules.plain import covers
from shipmate.safety.rules.rule import Rule, ruled
from shipmate.safety.shell import LEVELS, check_shell
from shipmate.safety.verdict import Subject, Verdict

TESTS = Path(__file__).parent.parent / "tests"
LINES = (TESTS / "cases" / "shell.jsonl", TESTS / "safety" / "shell_lines.jsonl")
RULES = 200


def judged(command: str, shell: str, rules: list[Rule]) -> None:
    """What a call of `shell_exec` goes through before it asks, or runs."""
    found = check_shell(command, shell)
    touches = tuple(Subject("shell", words=words) for words in found.commands)
    parts = covers(command, found, "/srv/project")
    ruled(rules, "shell_exec", Verdict(LEVELS[found.verdict], touches=touches, covers=parts))


async def verdicts(_bench: Bench) -> list[Figure]:
    texts = [line for file in LINES for line in file.read_text("utf-8").split("\n") if line]
    cases = [json.loads(text) for text in texts]
    rules = [
        Rule(id=str(n), effect="allow", text=f"shell:npm run task-{n}", scope="everywhere")
        for n in range(RULES)
    ]
    judged("true", "bash", rules)  # the parsers are imported
    took: list[float] = []
    for case in cases:
        start = time.perf_counter()
        judged(case["command"], case["shell"], rules)
        took.append((time.perf_counter() - start) * 1000)
    return [Figure(f"a command judged, with {RULES} rules, p95", percentile(took, 0.95), "ms", 5)]
