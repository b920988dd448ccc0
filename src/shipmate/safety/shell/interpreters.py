"""Shells and languages: what code they are given, and what that code does."""

import re
from collections.abc import Iterator

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge
from shipmate.safety.shell.expansion import PIPE
from shipmate.safety.shell.risk import HIDDEN, Finding, ask, block, danger

UNSEEN = danger(
    "unseen-code", "Runs code that cannot be seen: it comes from a pipe or the network."
)
SHELLS = frozenset("sh bash dash zsh ksh mksh ash fish tcsh csh rbash busybox-sh".split())
INLINE: dict[str, str] = {
    "python": "c",
    "pypy": "c",
    "node": "ep",
    "nodejs": "ep",
    "deno": "",
    "bun": "ep",
    "perl": "eE",
    "ruby": "e",
    "php": "rRB",
    "lua": "e",
    "luajit": "e",
    "rscript": "e",
    "tclsh": "",
    "osascript": "e",
    "groovy": "e",
    "julia": "eE",
    "guile": "c",
    "elixir": "e",
    "scala": "e",
    "swift": "e",
    "ts-node": "ep",
    "tsx": "ep",
    **dict.fromkeys(("jrunscript", "jjs", "gnuplot", "r", "racket", "clojure", "erl"), "e"),
    **dict.fromkeys(("octave", "sbcl", "gst"), ""),
}
"""Language: the short options whose value is code."""
INLINE_LONG = ("eval", "print", "exec", "command", "run")
DESTROYS = re.compile(
    r"rmtree|\b(os\.)?(remove|unlink|rmdir|removedirs)\s*\(|\.unlink\b|\bunlink\b|rm_rf|rm_r\b|rmSync|rmdirSync"
    r"|unlinkSync|fs\.(promises\.)?(rm|rmdir|unlink)\b|FileUtils\.(rm|remove)|File\.delete|remove_tree"
    r"|Deno\.remove|shell_exec|\.rmdir\s*\(|\btruncate\s*\(|rimraf|removeSync"
)
STARTS = re.compile(
    r"os\.(system|popen|exec\w*|spawn\w*|fork|kill)|subprocess|pty\.spawn|commands\.getoutput|ctypes"
    r"|__import__|importlib|child_process|execSync|spawnSync|execFile|Deno\.(run|Command)|Bun\.spawn"
    r"|process\.binding|new Function\(|(?<![.\w])(eval|exec)\s*\(|os\.execute|io\.popen"
    r"|do shell script|shell_exec|passthru|proc_open|\bsystem\s*\("
)
STARTS_QUOTED = re.compile(
    r"`[^`]+`|%x[({\[]|qx\s*[({/\[]|\b(system|exec|eval|fork|spawn)\b\s*[({\"'$\[ ]"
    r"|Kernel\.|IO\.popen|Open3"
)
QUOTING = frozenset({"perl", "ruby", "php", "tclsh", "groovy"})
"""Languages in which backticks and a bare `system` run a command."""
UNSEEN_CODE = re.compile(
    r"marshal\.loads|pickle\.loads|socket\.socket|net\.Socket|TCPSocket|IO::Socket|fsockopen"
    r"|(\\x[0-9a-f]{2}){3}",
    re.I,
)
RAW = re.compile(r"/dev/([shv]d[a-z]|nvme\d|mmcblk|mem\b)")
FRAMEWORKS = {"artisan": "artisan", "manage.py": "django-admin", "console": "artisan"}
"""Scripts that are the command line of a framework."""
OPTION_VALUED = {"python": "WXm", "node": "r", "perl": "IMm", "ruby": "rIC", "php": "dcz"}


def judge_shell(call: Call) -> Iterator[Finding]:
    """A shell: its `-c` text, its script file, or what comes through standard input."""
    yield ask("shell", "Starts a shell.")
    words = list(call.args)
    at, given, reading = 0, False, False
    while at < len(words) and words[at][:1] in {"-", "+"} and words[at] not in {"-", "--"}:
        word = words[at]
        if word in {"--rcfile", "--init-file"}:
            yield danger("startup-file", "The shell runs a startup file first.")
        given |= re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word) is not None
        reading |= re.fullmatch(r"-[a-zA-Z]*s[a-zA-Z]*", word) is not None
        at += 2 if word in {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"} else 1
    rest = words[at + 1 :] if words[at : at + 1] in (["--"], ["-"]) else words[at:]
    yield from _source(call, rest, given=given, reading=reading)


def _source(call: Call, rest: list[str], *, given: bool, reading: bool) -> Iterator[Finding]:
    if given and rest:
        yield call.script(rest[0], call.name, tuple(rest[1:]))
    elif rest and not reading:
        yield from run_file(call, rest[0], call.name)
    elif call.feed is not None:
        yield UNSEEN if HIDDEN in call.feed[:200] else call.script(call.feed, call.name)


def run_file(call: Call, path: str, language: str) -> Iterator[Finding]:
    """A file that is run: what this script wrote into it is known."""
    yield ask("code", f"Runs {path}." if HIDDEN not in path else "Runs a file.")
    text = call.scope.files.get(places.resolve(path, call.scope.cwd))
    if path.startswith(PIPE) or (path in {"/dev/stdin", "/proc/self/fd/0"} and call.feed):
        yield UNSEEN
    elif text is not None and HIDDEN in text:
        yield danger("downloaded-code", "Runs a file that was just downloaded or decoded.")
    elif text is not None:
        yield call.script(text, language) if language in SHELLS else code(text, language)


def judge_source(call: Call) -> Iterator[Finding]:
    """`source` and `.`"""
    yield from (f for path in call.args[:1] for f in run_file(call, path, "bash"))


def judge_eval(call: Call) -> Iterator[Finding]:
    text = " ".join(call.args)
    if HIDDEN in text:
        yield danger("unseen-code", "Runs text that is not visible.")
    yield ask("eval", "Runs text as a command.")
    yield call.script(text, "bash")


def judge_language(call: Call) -> Iterator[Finding]:
    """An interpreter: inline code is scanned, code from a pipe is red."""
    name = language(call.name)
    yield ask("code", f"Runs {name} code.")
    letters, inline = INLINE[name], False
    for at, word in enumerate(call.args):
        if not word.startswith("-") or word in {"-", "--"}:
            break
        if _gives_code(word, letters) and (text := _code(call.args, at, letters)) is not None:
            inline = True
            yield from code_of(call, text, name)
    if not inline:
        yield from _program(call, name)
    elif name in {"perl", "ruby"} and any(re.match(r"-\w*i", w) for w in call.options()):
        yield from (places.write(path, call.scope) for path in call.operands("eE"))


def _gives_code(word: str, letters: str) -> bool:
    if word.startswith("--"):
        return word[2:].partition("=")[0] in INLINE_LONG
    return bool(letters) and re.match(rf"-[a-zA-Z]*?[{letters}]", word) is not None


def _code(args: tuple[str, ...], at: int, letters: str) -> str | None:
    word = args[at]
    if word.startswith("--") and "=" in word:
        return word.partition("=")[2]
    glued = re.sub(rf"^-[a-zA-Z]*?[{letters}]", "", word) if letters and word[1] != "-" else ""
    if glued and not re.fullmatch(r"[a-z]", glued):
        return glued
    return args[at + 1] if at + 1 < len(args) else None


def _program(call: Call, name: str) -> Iterator[Finding]:
    operands = call.operands(OPTION_VALUED.get(name, ""))
    module = call.has("m") and name == "python"
    if operands and (tool := FRAMEWORKS.get(operands[0].rsplit("/", 1)[-1])):
        yield call.run((tool, *operands[1:]))
    if operands and operands[0] != "-" and not (name in {"deno", "bun"} and operands[0] == "eval"):
        yield from run_file(call, operands[0], name)
    elif name in {"deno", "bun"} and operands[:1] == ["eval"]:
        yield from (code(text) for text in operands[1:])
    elif not module and call.feed is not None:
        yield UNSEEN if HIDDEN in call.feed[:200] else code(call.feed, name)


def code_of(call: Call, text: str, name: str) -> Iterator[Finding]:
    if HIDDEN in text[:1]:
        yield danger("unseen-code", "Runs code that is not visible.")
    yield code(text, name)
    for word in re.findall(r"[\"']([^\"']+)[\"']", text):
        if places.secret(places.resolve(word, call.scope.cwd)):
            yield danger("secret", f"Reads keys or passwords ({word}).")


def code(text: str, name: str = "") -> Finding:
    """What inline code does, by what it names; code that cannot be followed only asks."""
    if re.search(r"while.*\bfork\b|\bfork\b.*while", text):
        return block("fork-bomb", "Code that starts itself without end.")
    if name in QUOTING and STARTS_QUOTED.search(text):
        return danger("runs-program", "The code starts other programs.")
    for pattern, rule, reason in (
        (RAW, "dd", "The code writes disks."),
        (DESTROYS, "destroy", "The code deletes files."),
        (STARTS, "runs-program", "The code starts other programs."),
        (UNSEEN_CODE, "unseen-code", "The code hides what it does, or opens connections."),
    ):
        if pattern.search(text):
            return danger(rule, reason)
    return ask("code", "Runs inline code.")


def language(name: str) -> str:
    """`python3.11` is `python`."""
    return re.sub(r"(?<=[a-z])[\d.]+w?$", "", name)


JUDGES: dict[str, Judge] = {
    **dict.fromkeys(SHELLS, judge_shell),
    "eval": judge_eval,
    "source": judge_source,
    ".": judge_source,
    **dict.fromkeys(INLINE, judge_language),
}
