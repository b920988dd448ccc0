"""What a shell command is judged to be: the case files, our own lines, and whole kinds of lines."""

import json
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.safety.shell import check_shell
from shipmate.safety.shell.inquiry import TABLES
from tests.board import BOARD
from tests.reports import reports

TESTS = Path(__file__).parent.parent


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


CASES = lines(TESTS / "cases" / "shell.jsonl")
OWN = lines(TESTS / "safety" / "shell_lines.jsonl")
"""Lines of the same kinds, written from the rules before they were tried."""
REPORTS = reports("security")
WRAPPERS = (
    """
sudo / env / env A=1 / timeout 5 / timeout -k 1 5 / nice -n 5 / nohup / setsid / stdbuf -o0 / xargs
command / exec / time / busybox / doas / ionice -c3 / flock x / find . -exec / watch / parallel
strace -f / ! / A=1 / ls; / ls && / ls || / ls | / ls & / ( / { / if ls; then / while ls; do
echo $( / echo ` / cat <( / > x / 2>&1 / unshare / ls |& / ls | while read x; do / for i in a; do
""".strip()
    .replace("\n", " / ")
    .split(" / ")
)
DANGEROUS = ["rm -rf build", "git push --force", "dd if=/dev/zero of=x", "cat ~/.ssh/id_rsa"]


def accepted(case: dict[str, Any]) -> str:
    verdict = check_shell(case["command"], case["shell"])
    wrong = f"{case['command']!r} was {verdict.verdict} ({verdict.rule}), not {case['accept']}"
    return "" if verdict.verdict in case["accept"] else wrong


@pytest.mark.safety("shell cases")
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_each_case_gets_an_accepted_verdict(case: dict[str, Any]) -> None:
    assert not accepted(case)


@pytest.mark.safety
def test_our_own_lines_get_accepted_verdicts() -> None:
    wrong = [told for case in OWN if (told := accepted(case))]
    BOARD.put("shell lines of our own", len(OWN), len(wrong))
    assert wrong == []


def test_commands_in_disguise_are_seen() -> None:
    commands = REPORTS["SEC-03"]["input"]["commands"]
    verdicts = [check_shell(command).verdict for command in commands]
    blocked = [*range(5), 9, 10, 18, 19]
    assert [commands[at] for at in blocked if verdicts[at] != "blocked"] == []
    assert [c for c, v in zip(commands, verdicts, strict=True) if v in {"safe", "ask"}] == []


def test_text_with_dangerous_words_stays_yellow_at_most() -> None:
    commands = REPORTS["SEC-04"]["input"]["commands"]
    red = {c: check_shell(c).verdict for c in commands if check_shell(c).verdict == "blocked"}
    assert red == {}
    others = [c for c in commands if "rm -f build/a.o" not in c]
    assert [c for c in others if check_shell(c).verdict not in {"safe", "ask"}] == []


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("command", DANGEROUS)
def test_a_wrapper_hides_nothing(wrapper: str, command: str) -> None:
    assert check_shell(f"{wrapper} {command}").verdict in {"dangerous", "blocked"}


@pytest.mark.parametrize("shell", TABLES)
def test_a_name_with_a_version_is_judged_as_the_program_and_is_never_safe(shell: str) -> None:
    names = {name for table, _ in TABLES[shell] for name in table if name[-1].isalpha()}
    commands = [f"{name}9 {words}" for name in sorted(names) for words in ("", "stop x", "/all")]
    assert [command for command in commands if check_shell(command, shell).verdict == "safe"] == []
    assert check_shell("systemctl9 stop x", "bash").verdict == "dangerous"


def test_a_script_within_scripts_is_followed() -> None:
    command = "rm -rf build"
    for _ in range(4):
        command = f"bash -c {json.dumps(command).replace('$', chr(92) + '$')}"
        assert check_shell(command).verdict == "dangerous", command


def test_the_commands_that_would_run_are_listed() -> None:
    verdict = check_shell("cd src && X=a; sudo env B=1 git -C . log | head -n 3")
    assert ("git", "-C", ".", "log") in verdict.commands
    assert ("head", "-n", "3") in verdict.commands


STYLES = ["{}", "'{}'", '"{}"', "\\{}", "{}''", "{}\\\n", "${{unset}}{}", "{}$(:)", "{}``", "hex"]
"""What the shell removes again around a letter."""


def styled(letter: str, style: str) -> str:
    return f"$'\\x{ord(letter):02x}'" if style == "hex" else style.format(letter)


@st.composite
def quoted(draw: st.DrawFn) -> str:
    """`rm -rf build`, each letter in a style of its own."""
    words = [
        "".join(styled(letter, draw(st.sampled_from(STYLES))) for letter in word)
        for word in ("rm", "-rf", "build")
    ]
    return draw(st.sampled_from([" ", "  ", "\t", " \\\n "])).join(words)


@given(quoted())
def test_quotes_do_not_hide_a_command(command: str) -> None:
    assert check_shell(command).verdict in {"dangerous", "blocked"}


@given(st.text(alphabet=" \n\\'\"`$(){}<>|&;=#!*~-/abrmls01\u202e\ud800", max_size=60))
def test_any_text_is_judged(text: str) -> None:
    for shell in ("bash", "cmd", "powershell"):
        assert check_shell(text, shell).verdict in {"safe", "ask", "dangerous", "blocked"}


@given(
    st.sampled_from(["rm -rf x", "dd if=a"]),
    st.text("'\"`$({;|&<\n \\", max_size=8),
)
def test_broken_syntax_is_never_safe(command: str, noise: str) -> None:
    assert check_shell(f"{noise}\n{command}").verdict != "safe"


def test_the_cost_grows_with_the_length(capsys: pytest.CaptureFixture[str]) -> None:
    """p95 over the cases is printed; the assertion is a ratio, since machines differ."""
    taken = list[float]()
    for case in CASES:
        start = time.perf_counter()
        check_shell(case["command"], case["shell"])
        taken.append(time.perf_counter() - start)
    with capsys.disabled():
        print(f"\ncheck_shell: p95 {statistics.quantiles(taken, n=20)[-1] * 1e3:.2f} ms")
    start = time.perf_counter()
    check_shell("\n".join(case["command"] for case in CASES if case["category"] == "safe"))
    together = time.perf_counter() - start
    assert together < 20 * sum(taken)
