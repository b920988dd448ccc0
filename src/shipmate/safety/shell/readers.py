"""Programs that only read, and the options with which they do more."""

import re
from collections.abc import Iterator

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge
from shipmate.safety.shell.risk import HIDDEN, Finding, Risk, ask, danger

FILES = frozenset(
    "ls cat head tail wc nl stat du df file md5sum md5 sha1sum sha224sum sha256sum sha384sum"
    " sha512sum shasum b2sum cksum sum realpath readlink cut paste tr fold fmt expand unexpand rev"
    " tac comm join uniq column cmp diff diff3 sdiff od hexdump hd xxd strings tree dir vdir sort"
    " base64 base32 zcat bzcat xzcat zstdcat bat batcat exa eza lsd look tsort nm size objdump"
    " readelf test [ colordiff wdiff pr ptx cd pathchk shuf jq exiftool".split()
)
TEXT = frozenset(
    "echo printf pwd true false : seq whoami id groups uname arch nproc uptime date cal ncal tty"
    " which whereis type basename dirname factor expr getconf locale logname users who w ps free"
    " lscpu tput hostname apropos whatis man info help exit return shift".split()
)
"""Their words are not read as files (those of `man` and `which` name programs)."""
PATTERN = frozenset("grep egrep fgrep zgrep rg ag ack look".split())
"""The first operand is a pattern and no file."""
RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "rg": ("", ("pre", "hostname-bin")),
    "sort": ("", ("compress-program",)),
    "man": ("PH", ("pager", "html")),
    "bat": ("", ("pager",)),
    "batcat": ("", ("pager",)),
    "ag": ("", ("pager",)),
    "ack": ("", ("pager",)),
    "less": ("k", ("lesskey-file",)),
    "split": ("", ("filter",)),
    "zip": ("", ("unzip-command",)),
    "wget": ("", ("use-askpass",)),
    "tcpdump": ("z", ()),
    "go": ("", ("exec", "toolexec", "vettool")),
    **dict.fromkeys(("make", "gmake"), ("E", ("eval",))),
    "nano": ("s", ("speller",)),
    **dict.fromkeys(("gawk", "awk"), ("l", ("load",))),
    "gcc": ("", ("wrapper",)),
    "nc": ("ec", ("exec", "sh-exec", "lua-exec")),
    "ncat": ("ec", ("exec", "sh-exec", "lua-exec")),
    "netcat": ("ec", ("exec", "sh-exec")),
    "openssl": ("", ("engine",)),
    "cpio": ("", ("rsh-command",)),
    "sdiff": ("", ("diff-program",)),
    "diff3": ("", ("diff-program",)),
}
"""Options with which a program starts another one: short letters, long names."""
WRITES: dict[str, tuple[str, tuple[str, ...]]] = {
    "sort": ("o", ("output",)),
    "tree": ("o", ()),
    "shuf": ("o", ("output",)),
    "sdiff": ("o", ("output",)),
    "base64": ("o", ("output",)),
    "date": ("s", ("set",)),
    "hostname": ("bF", ("file", "boot")),
    "file": ("Cm", ("compile", "magic-file")),
    "xxd": ("r", ("revert",)),
    "tail": ("fF", ("follow", "retry")),
    "less": ("oO", ("log-file",)),
    "bat": ("", ("diff",)),
    "rg": ("", ("search-zip",)),
}
"""Options with which a reader writes, or does not end."""
SECOND_IS_OUTPUT = frozenset({"uniq", "xxd"})
ASKING = frozenset({"man", "info", "exiftool", "jq"})
STANDARD = re.compile(r"/(usr/)?(local/)?s?bin/[^/]+")
FROM_FILE = ("files-from", "files0-from", "fromfile")
"""Options that print lines of a file where only its name seems to be shown."""
WORDS_ONLY = frozenset(
    "echo printf : true false which whereis type basename dirname expr seq apropos whatis exit"
    " return shift tput getconf factor help id groups".split()
)
"""Of the programs in `TEXT`: no option of theirs reads a file."""
NAMES_ONLY = frozenset(
    "ls dir vdir stat du df tree file test [ realpath readlink cd exa eza".split()
)


def judge_reader(call: Call) -> Iterator[Finding]:
    yield from _writes(call)
    if call.name in TEXT:
        yield from _text(call)
        return
    words = call.args
    if call.name in PATTERN and not call.has("ef", ("regexp", "file")):
        words = _without_pattern(call)
    yield from (_lighter(call, finding) for finding in places.reads(words, call.scope))
    if places.outside(places.resolve(".", call.scope.cwd)):
        yield ask("outside", "Works outside the project.")


def runs_programs(call: Call) -> Iterator[Finding]:
    """Options that start another program are red, whatever the program is."""
    short, long = RUNS.get(call.name, ("", ()))
    if call.has(short, long):
        yield danger("runs-program", f"An option of {call.name} starts another program.")


def _lighter(call: Call, finding: Finding) -> Finding:
    """Listing the names in a secret place shows no secret."""
    listed = call.name in NAMES_ONLY and not call.has("f" * (call.name == "file"), FROM_FILE)
    if finding.rule == "secret" and listed:
        return ask("secret-place", finding.reason)
    return finding


def _writes(call: Call) -> Iterator[Finding]:
    short, long = WRITES.get(call.name, ("", ()))
    for path in call.values(short, long) if call.name in {"sort", "tree", "shuf"} else ():
        yield places.write(path, call.scope)
    if call.has(short, long):
        yield ask("option", f"An option of {call.name} does more than read.")
    if call.name in SECOND_IS_OUTPUT:
        yield from (places.write(path, call.scope) for path in call.operands("fswclso")[1:2])
    if call.name in ASKING:
        yield ask("program", f"{call.name} can do more than read.")


def _text(call: Call) -> Iterator[Finding]:
    if any(HIDDEN in word for word in call.args):
        yield ask("hidden-text", "Shows text that is known only when it runs.")
    if call.name not in WORDS_ONLY:
        yield from (f for f in places.reads(call.args, call.scope) if f.risk > Risk.SAFE)
    if call.name == "date" and any(not arg.startswith(("+", "-")) for arg in call.args[:1]):
        yield ask("option", "May set the clock.")
    if call.name == "hostname" and call.operands():
        yield ask("option", "May change the name of this machine.")
    if call.name == "printf" and call.has("v"):
        yield ask("variable", "Sets a variable.")


def _without_pattern(call: Call) -> tuple[str, ...]:
    pattern = next((word for word in call.args if not word.startswith("-")), None)
    words = list(call.args)
    if pattern is not None:
        words.remove(pattern)
    return tuple(words)


JUDGES: dict[str, Judge] = dict.fromkeys(FILES | TEXT | PATTERN, judge_reader)
