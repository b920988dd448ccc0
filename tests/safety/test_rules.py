"""What rules cover, and that they never cover what they did not show."""

import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shipmate.safety.rules.pattern import Pattern, RuleError, parse, spelled
from shipmate.safety.rules.plain import covers
from shipmate.safety.rules.rule import Effect, Rule, checked, folders, ruled, suggested
from shipmate.safety.rules.trial import tried
from shipmate.safety.shell import LEVELS, check_shell
from shipmate.safety.verdict import Level, Subject, Verdict

ROOT = "/srv/project"


def rules(*texts: str, effect: Effect = "allow") -> list[Rule]:
    return [checked(Rule(id=text, effect=effect, text=text, scope="everywhere")) for text in texts]


def judged(command: str) -> Verdict:
    found = check_shell(command)
    return Verdict(
        LEVELS[found.verdict],
        touches=tuple(Subject("shell", words=words) for words in found.commands),
        covers=covers(command, found, ROOT),
    )


def effect(command: str, held: Iterable[Rule]) -> str:
    return ruled(held, "shell_exec", judged(command)).effect


def suggestions(command: str) -> tuple[str, ...]:
    return suggested("shell_exec", judged(command))


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ("npm test", ("shell:npm test",)),
        ("ls && npm test | head -3", ("shell:npm test",)),
        ("npm test; npm run lint\nnpm test", ("shell:npm test", "shell:npm run lint")),
        ("timeout 60 nice npm test 2>&1 | tail -5", ("shell:npm test",)),
        ("cd web && npm test >/dev/null", ("shell:cd web && npm test",)),
        (f"cd {ROOT}/web && npm test", ("shell:cd web && npm test",)),
        (f"cd {ROOT} && npm test", ("shell:npm test",)),
        ("git commit -m 'Say \"hi\"; rm'", ("shell:git commit -m 'Say \"hi\"; rm'",)),
        ("rm -rf build", ("shell:rm -rf build",)),
        ("git push origin '*'", ("shell:git push origin '*'",)),
    ],
)
def test_the_suggestion_is_the_part_that_needed_asking(
    command: str, texts: tuple[str, ...]
) -> None:
    assert suggestions(command) == texts
    assert effect(command, rules(*texts)) == "allow"
    for left_out in texts:
        assert effect(command, rules(*(t for t in texts if t != left_out))) == ""


@pytest.mark.parametrize(
    "command",
    """
sudo npm test / env npm test / env A=1 npm test / A=1 npm test / bash -c 'npm test' / sh x.sh
python x.py / python3.11 -m pytest / node x.js / perl x.pl / xargs npm test
find . -exec npm test ; / find . -name x -delete / git / git -C web push / npm / docker
eval npm test / exec npm test / . x / source x / watch npm test / ssh host npm test
npm test $(id) / npm test `id` / npm test $X / npm test > out / npm test >> out / npm test < in
npm test & / (npm test) / { npm test; } / ! npm test / npm test # x / if npm test; then ls; fi
for i in a; do npm test; done / f() { npm test; } / npm test <<< x / npm test <(ls)
cd .. && npm test / cd /tmp && npm test / cd web; npm test / ls && cd web && npm test
cd - && npm test / cd ~ && npm test / npm test |& cat / npm test && rm -rf x
alias ls=x; npm test / export A=1; npm test / set -e; npm test / npm test \\ x
coproc npm test / rm -rf build; ls / timeout 5 rm -rf build / awk 'BEGIN { system("x") }'
sed -i s/a/b/e x / make {a,b} / ssh-agent bash / command npm test / uv run x / npx x
parallel npm test ::: a / nohup npm test &
""".strip().replace("\n", " / ").split(" / "),
)  # fmt: skip
def test_what_no_rule_can_allow_suggests_none(command: str) -> None:
    assert suggestions(command) == ()
    held = rules("shell:npm test *", "shell:rm *", "shell:ls *", "shell:make *", "shell:out")
    assert effect(command, held) != "allow"


COVERED = ("npm test", "git push origin main", "make -j4 all", "pytest -q tests/a.py")
HELD = rules(*(f"shell:{command}" for command in COVERED))
ATTACKS = (
    *("{}; rm -rf x", '{}\nrm x', '{}\r\nrm x', '{}\rrm x', "{} && curl e.test", "{} || rm x"),
    *("{} | sh", "{} | tee x", "{} & rm x", "{}&", "rm x; {}", 'rm x\n{}', "rm x | {}"),
    *("{} $(rm x)", "{} `rm x`", '{} "$(rm x)"', "{} ${{X:=y}}", "{} <(rm x)"),
    *("{} > .git/hooks/x", "{} >x", "{} 2>x", "{}>>x", "{} >| x", "{} &> x"),
    *("{} < /etc/passwd", "{} <<< x", '{} <<E\n$(rm x)\nE', "FOO=bar {}", "PATH=. {}"),
    *("export PATH=.; {}", "LD_PRELOAD=x {}", "sudo {}", "env {}", "bash -c '{}; rm x'"),
    *("xargs {}", 'find . -exec {} \\;', 'eval {} \\; rm x', "exec {}", "{} --extra", "{} x"),
    *("cd /tmp && {}", "cd .. && {}", "cd web && {}", "pushd x && {}", "alias npm=rm; {}"),
    *("npm() {{ rm x; }}; {}", "function git {{ rm x; }}; {}", "set -x; {}"),
    *("trap 'rm x' EXIT; {}", ". ./x; {}", "source x; {}", "hash -p /tmp/x npm; {}"),
    *("{} {{rm,x}}", '{} \\\n; rm x', "{} '\n' ; rm x", '{} \u2028rm x', '{} \u200b'),
    *('{} \x00 rm', "{} $'\\n'rm", "if {}; then rm x; fi", "while {}; do rm x; done"),
    *("({}; rm x)", "{{ {}; rm x; }}", "! {}; rm x", "{} $[$(rm x)]", "{} $((x[$(rm x)]))"),
    *("{} ~+/$(rm x)", "time {}; rm x", "coproc {}; rm x", "timeout 5 rm x; {}"),
    *("timeout 5 sh -c '{}'", "nice FOO=1 {}", "nohup sudo {}", "./{}", "/tmp/{}"),
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("command", COVERED)
def test_nothing_is_added_to_what_a_rule_covers(command: str, attack: str) -> None:
    assert effect(command, HELD) == "allow"
    assert effect(attack.format(command), HELD) != "allow"


PIECES = [
    *COVERED, *("ls", "echo a", "cat x", "rm x", "rm -rf x", "curl e.test", "id", "npm", "test"),
    *(" ", "  ", "\t", "\n", "\r", ";", ";;", "&", "&&", "|", "||", "|&", "(", ")", "{", "}", "!"),
    *("#", "'", '"', "\\", "`", "$(", "$", "${x}", "<", ">", ">>", "2>&1", ">/dev/null"),
    *(" 2>/dev/null", "timeout 5 ", "nice ", "sudo ", "env ", "A=1 ", "cd web && "),
    *("bash -c ", "eval ", "x", "*", "~"),
]  # fmt: skip


@pytest.fixture(scope="module")
def bin_of_stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs that do nothing but write down how they were called."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("npm", "git", "make", "pytest", "rm", "curl", "id", "cat", "ls", "sudo", "env",
                 "timeout", "nice", "test", "x", "sh", "bash"):  # fmt: skip
        stub = folder / name
        stub.write_text('#!/bin/sh\nprintf "%s\\0" "${0##*/}" "$@" > "$LOG/$$"\n')
        stub.chmod(0o755)
    return folder


def ran(command: str, stubs: Path, folder: Path) -> list[tuple[str, ...]]:
    """The programs that bash really starts."""
    log = folder / "log"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", command],
        env={"PATH": str(stubs), "LOG": str(log), "HOME": str(folder)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    files = [path.read_bytes().split(b"\0")[:-1] for path in log.iterdir()]
    return [tuple(part.decode() for part in parts) for parts in files]


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """Covered and safe commands, joined; and one piece somewhere among them, or in one."""
    commands = draw(st.lists(st.sampled_from([*COVERED, "ls", "echo a"]), min_size=1, max_size=4))
    joins = st.sampled_from([" && ", "; ", " | ", "\n", " || ", "|"])
    pieces = [piece for command in commands for piece in (command, draw(joins))][:-1]
    whole = "".join(pieces)
    at = draw(st.integers(0, len(whole)))
    return [whole[:at], draw(st.sampled_from(["", *PIECES])), whole[at:]]


def unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    while words[0] in ("timeout", "nice"):
        words = words[2:] if words[0] == "timeout" else words[1:]
    return words


MAY_RUN = {tuple(shlex.split(command)) for command in COVERED}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.one_of(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12), lines()))
@example(["timeout 5 ", "npm test", "|", "nice ", "make -j4 all"])
@example(["npm test", " 2>/dev/null", ";", "git push origin main", "\n", "echo a"])
@example(["npm test", "'", "\n", "'"])
def test_what_rules_allow_runs_nothing_else_in_bash(
    bin_of_stubs: Path, tmp_path: Path, pieces: list[str]
) -> None:
    command = "".join(pieces)
    if effect(command, HELD) != "allow":
        return
    (tmp_path / "web").mkdir(exist_ok=True)
    for words in map(unwrapped, ran(command, bin_of_stubs, tmp_path)):
        assert words in MAY_RUN or check_shell(shlex.join(words)).verdict == "safe", command
    assert {path.name for path in tmp_path.iterdir()} <= {"log", "web"}


WORDS = st.lists(st.text(max_size=8), min_size=1, max_size=4)


@given(WORDS, WORDS, st.sampled_from([".", "web", "a b", "..", "/x"]))
def test_a_spelled_rule_names_just_its_command(
    one: list[str], other: list[str], folder: str
) -> None:
    subject = Subject("shell", words=tuple(one), folder=folder)
    if text := spelled(subject):
        pattern = parse(text)
        assert pattern.names(subject)
        assert pattern.exact
        assert pattern.names(Subject("shell", words=tuple(other))) == (
            folder == "." and one == other
        )


@pytest.mark.parametrize(
    "text",
    ["", "npm test", "shell:", "shell: npm", "shell:*", "shell:a; b", "shell:a | b", "shell:a > b",
     "shell:'a", "shell:$(a)", "shell:cd .. && a", "shell:cd /x && a", "write:/etc/x", "write:../x",
     "write:~/x", "web:EXAMPLE.org", "web:a b", "web:http://x", "mcp:x", "mcp:*/x", "tool:a b",
     "else:x", "shell:" + "x" * 2000],
)  # fmt: skip
def test_what_is_no_rule_is_said(text: str) -> None:
    with pytest.raises(RuleError):
        rules(text, effect="deny")


@pytest.mark.parametrize(
    "text",
    ["shell:sudo *", "shell:bash *", "shell:python *", "shell:python3 x.py", "shell:env *",
     "shell:git *", "shell:git", "shell:npm *", "shell:npm exec *", "shell:docker run *",
     "shell:xargs *", "shell:find *", "shell:git -c a=b push", "shell:uv run *", "shell:/bin/sh x",
     "shell:A=1 npm", "shell:ssh *", "shell:eval *", "write:**", "write:*", "web:*.example.org"],
)  # fmt: skip
def test_what_no_rule_may_allow_can_still_be_denied(text: str) -> None:
    with pytest.raises(RuleError):
        rules(text)
    assert rules(text, effect="deny")


@pytest.mark.parametrize(
    "command",
    ["git push", "git push -f", "sudo git push", "bash -c 'git push'", "ls; git push",
     "git -C w push", "git --no-pager push x", "/usr/bin/git push", "echo $(git push)",
     "xargs git push", "timeout 5 env A=1 git push", "if true; then git push; fi",
     "g''it push", "git push > x"],
)  # fmt: skip
def test_another_spelling_does_not_get_around_a_denial(command: str) -> None:
    assert effect(command, rules("shell:git push *", effect="deny")) == "deny"


def test_a_denial_names_no_more_than_it_says() -> None:
    held = rules("shell:git push *", effect="deny")
    assert [c for c in ("git pull", "echo git push", "git log push") if effect(c, held)] == []


@pytest.mark.parametrize(
    ("text", "path", "named"),
    [
        ("write:src/**", "src/a/b.py", True),
        ("write:src/**", "srcs/a.py", False),
        ("write:src/**", "lib/src/a.py", False),
        ("write:src/*", "src/a/b.py", False),
        ("write:**/*.md", "a/b/c.md", True),
        ("write:**/*.md", "c.md", True),
        ("write:src/a.py", "src/a.py", True),
        ("write:src/a.py", "src/axpy", False),
        ("write:src/[ab].py", "src/a.py", False),
        ("read:.env", ".env", True),
    ],
)
def test_a_path_is_named_by_its_parts(text: str, path: str, named: bool) -> None:
    pattern = parse(text)
    assert pattern.names(Subject(pattern.kind, path)) is named


def test_a_denial_of_a_path_holds_for_its_other_spellings() -> None:
    assert parse("write:caf\u00e9/**").concerns(Subject("write", "CAFE\u0301/x"))


def test_files_suggest_their_folders_and_odd_names_nothing() -> None:
    assert folders(["src/a.py", "src/b.py", "README.md"]) == ("write:src/**", "write:README.md")
    assert folders(["src/*/a.py"]) == ()
    assert folders(["a\u202eb"]) == ()


def test_red_needs_a_rule_that_names_just_it() -> None:
    held = rules("shell:rm *", "write:.git/**")
    assert effect("rm -rf build", held) == ""
    assert effect("rm -rf build", rules("shell:rm -rf build")) == "allow"
    hook = Subject("write", ".git/config")
    red = Verdict(Level.DANGER, touches=(hook,), covers=(hook,))
    assert ruled(held, "write_file", red).effect == ""
    assert ruled(rules("write:.git/config"), "write_file", red).effect == "allow"


def test_a_tool_is_named_only_where_nothing_else_is_known_of_the_call() -> None:
    held = rules("tool:shell_exec", "tool:note")
    assert ruled(held, "note", Verdict(Level.ASK)).effect == "allow"
    assert ruled(held, "note", Verdict(Level.DANGER)).effect == ""
    assert ruled(held, "shell_exec", judged("python x.py")).effect == ""


def test_hosts_and_mcp_tools_are_named_exactly() -> None:
    assert parse("web:example.org").names(Subject("web", "example.org"))
    assert not parse("web:example.org").names(Subject("web", "a.example.org"))
    assert parse("web:*.example.org").concerns(Subject("web", "a.example.org"))
    assert not parse("web:*.example.org").concerns(Subject("web", "badexample.org"))
    assert parse("mcp:s/*") == Pattern("mcp", "s/*")
    assert parse("mcp:s/*").names(Subject("mcp", "s/t"))
    assert not parse("mcp:s/*").names(Subject("mcp", "st/t"))


def test_a_trial_says_what_would_be_and_which_rule_decides(tmp_path: Path) -> None:
    held = rules("shell:npm test") + rules("shell:npm publish *", effect="deny")
    trial = tried("shell", "ls && npm test", held, Path())
    assert (trial.verdict, trial.without) == ("allow", "ask")
    assert [rule.text for rule in trial.rules] == ["shell:npm test"]
    assert trial.commands == [["ls"], ["npm", "test"]]
    assert tried("shell", "sudo npm publish", held, Path()).verdict == "refuse"
    assert tried("shell", "npm test; rm -rf x", held, Path()).verdict == "danger"
    assert tried("write", "src/a.py", rules("write:src/**"), tmp_path).verdict == "allow"
    assert tried("write", "../a.py", rules("write:src/**"), tmp_path).verdict == "refuse"
    assert (
        tried("web", "https://Example.org/x?y", rules("web:example.org"), Path()).verdict == "allow"
    )
