"""Programs that run another program: what they wrap is judged as if it stood alone."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from shipmate.safety.shell.call import Call, Judge, after_options
from shipmate.safety.shell.environment import assignment
from shipmate.safety.shell.interpreters import SHELLS, UNSEEN
from shipmate.safety.shell.risk import HIDDEN, SAFE, Finding, Risk, ask, capped, danger

WITHIN = ask("wrapper", "Runs a command within another one.")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How the words of a wrapper lead to the command in it."""

    valued: str = ""
    """Short options that take the next word."""
    long: tuple[str, ...] = ()
    skip: int = 0
    """Operands before the command: the limit of `timeout`, the lock of `flock`."""
    floor: Finding = WITHIN
    cap: Risk = Risk.BLOCKED
    """The highest risk here: elsewhere (a container) less is lost."""
    after: str = ""
    """The command follows this word, such as `run` or `--`."""


PRIVILEGE = danger("privilege", "Runs with the rights of another user.")
PLAIN = Wrapper()
SILENT = Wrapper(floor=SAFE)
RUN = Wrapper(after="run")
EXEC = Wrapper(after="exec")
WRAPPERS: dict[str, Wrapper] = {
    **dict.fromkeys(
        ("nohup", "setsid", "fakeroot", "eatmydata", "unbuffer", "proxychains", "proxychains4",
         "torsocks", "linux32", "linux64", "catchsegv", "dbus-run-session", "busybox", "toybox",
         "entr", "chronic", "choom", "coproc", "valgrind", "xvfb-run", "rlwrap", "tsocks",
         "winpty", "spawn"),
        PLAIN,
    ),
    **dict.fromkeys(("builtin", "then", "do", "else", "!", "{", "("), SILENT),
    "time": Wrapper("fo", ("format", "output"), floor=SAFE),
    "sudo": Wrapper("ugpChrtDTR", ("user", "group", "prompt", "chdir", "host"), floor=PRIVILEGE),
    "doas": Wrapper("uC", floor=PRIVILEGE),
    "pkexec": Wrapper("", ("user",), floor=PRIVILEGE),
    "run0": Wrapper("u", ("user",), floor=PRIVILEGE),
    "chroot": Wrapper("", ("userspec", "groups"), 1, PRIVILEGE),
    "nsenter": Wrapper("tSG", ("target",), floor=PRIVILEGE),
    "unshare": Wrapper("SGR", ("root", "wd"), floor=ask("wrapper", "Runs in new namespaces.")),
    "systemd-run": Wrapper("uptH", ("unit", "property", "uid"), floor=PRIVILEGE),
    "nice": Wrapper("n", ("adjustment",)),
    "ionice": Wrapper("cnp", ("class", "classdata")),
    "chrt": Wrapper("TPD", (), 1),
    "taskset": Wrapper("", (), 1),
    "cpulimit": Wrapper("lpe", ("limit",)),
    "prlimit": Wrapper("p", ("pid",)),
    "setarch": Wrapper(),
    "stdbuf": Wrapper("ioe", ("input", "output", "error")),
    "timeout": Wrapper("ks", ("kill-after", "signal"), 1),
    "gtimeout": Wrapper("ks", ("kill-after", "signal"), 1),
    "flock": Wrapper("wEc", ("timeout", "wait", "conflict-exit-code"), 1),
    "strace": Wrapper("eopsuaOSEIPXb", ("trace", "output")),
    "ltrace": Wrapper("eopsua"),
    "perf": Wrapper("eo", after="record"),
    "numactl": Wrapper("CNmp", ("cpunodebind", "membind")),
    "firejail": PLAIN,
    "bwrap": Wrapper(after="--"),
    "screen": Wrapper("SscTthep"),
    "dumb-init": PLAIN,
    "tini": PLAIN,
    "hyperfine": Wrapper("wrmMnp", ("warmup", "runs", "prepare")),
    "uv": RUN,
    "poetry": RUN,
    "pipenv": RUN,
    "conda": RUN,
    "mamba": RUN,
    "pdm": RUN,
    "hatch": RUN,
    "rye": RUN,
    "bundle": EXEC,
    "mise": EXEC,
    "asdf": EXEC,
    "direnv": Wrapper("", (), 1, after="exec"),
    "npx": Wrapper("p", ("package",)),
    "pnpx": Wrapper("p", ("package",)),
    "bunx": Wrapper("p", ("package",)),
    "uvx": Wrapper("p", ("from", "with", "python")),
    "distrobox": Wrapper(after="--"),
    "wsl": Wrapper("du", ("distribution", "user")),
    "logsave": Wrapper(skip=1),
    "start-stop-daemon": Wrapper("xapuncgkdO", ("pidfile", "user", "name", "chuid", "chdir",
                                               "output", "exec", "startas"), after="--"),
    "capsh": Wrapper(floor=danger("privilege", "Changes what the process may do.")),
    **dict.fromkeys(("x86_64", "i386", "i686", "aarch64"), PLAIN),
}  # fmt: skip


def judge_wrapper(kind: Wrapper, call: Call) -> Iterator[Finding]:
    yield kind.floor
    within = inner(call.args, kind)
    texts = (
        call.values("c", ("command", "call"))
        if call.name in {"flock", "npx", "capsh", "sg"}
        else []
    )
    if call.name == "start-stop-daemon":
        words = call.args[call.args.index("--") + 1 :] if "--" in call.args else ()
        within = (*call.values("xa", ("exec", "startas"))[:1], *words)
    if texts:
        yield from (call.script(text, "sh") for text in texts)
    elif within:
        yield from wrapped(call, within, kind.cap)


def wrapped(call: Call, words: Sequence[str], cap: Risk = Risk.BLOCKED) -> Iterator[Finding]:
    """A command that may have assignments before it."""
    rest = list(words)
    while rest and (match := re.match(r"(\w+)=(.*)", rest[0], re.S)):
        yield assignment(match[1], match[2])
        rest.pop(0)
    if rest:
        yield capped(call.run(rest), cap)


def inner(args: tuple[str, ...], kind: Wrapper) -> tuple[str, ...]:
    if kind.after:
        if kind.after not in args:
            return ()
        args = args[args.index(kind.after) + 1 :]
    at = after_options(args, kind.valued, kind.long)
    return args[at + kind.skip :]


def named(name: str) -> Judge | None:
    """The system's loader, under the names of all machines."""
    return judge_loader if re.fullmatch(r"ld(-[\w.-]+?)?\.so(\.\d+)?", name) else None


def judge_loader(call: Call) -> Iterator[Finding]:
    yield WITHIN
    valued = ("library-path", "preload", "audit", "argv0", "inhibit-rpath")
    if call.has(long=("library-path", "preload", "audit")):
        yield danger("hijack", "Loads a library into another program.")
    yield from wrapped(call, call.args[after_options(call.args, "", valued) :])


def judge_env(call: Call) -> Iterator[Finding]:
    """`env`: `-S` splits a text into words; alone it shows the environment."""
    yield ask("environment", "Shows or changes the environment.")
    texts = call.values("S", ("split-string",))
    at = after_options(call.args, "uCS", ("unset", "chdir", "split-string"))
    for text in texts:
        yield call.script(" ".join((text, *call.args[at:])), "bash")
    if not texts:
        yield from wrapped(call, call.args[at:])


def judge_command(call: Call) -> Iterator[Finding]:
    """`command`: `-v` only looks a name up."""
    if call.has("vV"):
        yield SAFE
    else:
        yield from wrapped(call, call.args[after_options(call.args) :])


def judge_exec(call: Call) -> Iterator[Finding]:
    yield from wrapped(call, call.args[after_options(call.args, "a") :])
    yield ask("wrapper", "Replaces the shell.")


def judge_su(call: Call) -> Iterator[Finding]:
    yield PRIVILEGE
    yield from (call.script(text, "sh") for text in call.values("c", ("command",)))
    if call.name == "runuser" and call.has("u", ("user",)):
        yield from wrapped(call, call.args[after_options(call.args, "ugG", ("user",)) :])


XARGS_VALUED = ("replace", "delimiter", "arg-file", "max-args", "max-procs", "max-chars")


def judge_xargs(call: Call) -> Iterator[Finding]:
    """`xargs`: the command gets words that are not visible."""
    yield ask("xargs", "Runs a command on words that are read.")
    at = after_options(call.args, "IEdaLnPs", XARGS_VALUED)
    words = list(call.args[at:]) or ["echo"]
    marks = call.values("I", ("replace",)) or (["{}"] if call.has("i", ("replace",)) else [])
    known = call.feed is not None and HIDDEN not in call.feed
    given = (call.feed or "").split() if known else [HIDDEN]
    if words[0].rsplit("/", 1)[-1] in SHELLS:
        yield danger("xargs-shell", "Gives a shell words that are not visible.")
    if marks:
        words = [word.replace(marks[0] or "{}", " ".join(given)) for word in words]
    yield call.run(words if marks else [*words, *given])


def judge_parallel(call: Call) -> Iterator[Finding]:
    """`parallel`: its words are joined and run by a shell, once for each of its inputs."""
    yield ask("parallel", "Runs a command on many words.")
    at = after_options(call.args, "jNLnIaS", ("jobs", "colsep", "max-args", "arg-file", "joblog",
                                               "results", "delay", "timeout"))  # fmt: skip
    words = list(call.args[at:])
    ends = [i for i, word in enumerate(words) if word.startswith((":::", "::::"))]
    template, inputs = (words[: ends[0]], words[ends[0] + 1 :]) if ends else (words, [HIDDEN])
    if not template and not ends:
        yield UNSEEN
    for given in inputs[:20]:
        text = " ".join(template)
        joined = text.replace("{}", given) if "{}" in text else f"{text} {given}"
        yield call.script(joined if template else given, "bash")


def judge_text_runner(call: Call) -> Iterator[Finding]:
    """`watch`, `script -c`, `trap`: a text that a shell runs."""
    yield ask("wrapper", "Runs a command within another one.")
    if call.name == "trap" and not call.has("lp"):
        yield from (call.script(text, "bash") for text in call.args[:1] if text != "-")
    elif call.name == "watch":
        at = after_options(call.args, "nq", ("interval", "equexit"))
        plain = call.has("x", ("exec",))
        yield call.run(call.args[at:]) if plain else call.script(" ".join(call.args[at:]), "sh")
    elif call.name in {"script", "nix-shell", "expect", "tmux", "alias"}:
        texts = call.values("c", ("command", "run")) or _loose(call)
        yield from (call.script(text, "sh") for text in texts)


def _loose(call: Call) -> list[str]:
    """Words that hold a blank, or the value of an alias."""
    if call.name == "alias":
        return [word.partition("=")[2] for word in call.args if "=" in word]
    if call.name == "tmux":
        at = next((i for i, w in enumerate(call.args) if w.startswith(("new", "split", "run"))), 0)
        words = call.args[at + 1 :]
        return [" ".join(words[after_options(words, "nscxytFe") :]), *call.args]
    return [word for word in call.args if " " in word]


JUDGES: dict[str, Judge] = {
    **{name: partial(judge_wrapper, kind) for name, kind in WRAPPERS.items()},
    "env": judge_env,
    "command": judge_command,
    "exec": judge_exec,
    **dict.fromkeys(("su", "runuser"), judge_su),
    "xargs": judge_xargs,
    **dict.fromkeys(("parallel", "rush"), judge_parallel),
    **dict.fromkeys(
        ("watch", "script", "trap", "nix-shell", "expect", "tmux", "alias"),
        judge_text_runner,
    ),
}
