"""The tasks of `./dev bench --offline-model` are counted right."""

from bench.offline import CORRECTED, MULTI, SINGLE, Score, score
from shipmate.llm.model import Reply
from shipmate.llm.scripted import ScriptedModel, call, say

RIGHT = [
    call(tool, **{name: " ".join(words).removeprefix("=") for name, words in wanted.items()})
    for _, tool, wanted in SINGLE
]


def write(path: str, content: str) -> Reply:
    return call("write_file", path=path, content=content)


GOOD = [
    say("It is 8097."),
    write("greeting.txt", "hello world"),
    say("Done."),
    say("In src/billing.py."),
    say("app.py and billing.py"),
    write("README.md", CORRECTED),
    say("Done."),
    write("src/version.txt", "3.1.4"),
    say("Done."),
]


async def test_all_that_is_right_counts() -> None:
    assert await score(ScriptedModel(RIGHT), ScriptedModel(GOOD)) == Score(20, len(MULTI), 0)


async def test_wrong_calls_and_destroyed_files_are_noticed() -> None:
    wrong = [call("read_file", path="../README.md"), *RIGHT[1:19], say("No.")]
    bad = [write("data.txt", ""), *GOOD]
    assert await score(ScriptedModel(wrong), ScriptedModel(bad)) == Score(18, 6, 1)
