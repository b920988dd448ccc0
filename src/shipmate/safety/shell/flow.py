"""What flows between commands: text through pipes and files, variables, the folder."""

import re
from collections.abc import Iterable, Iterator, Sequence

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Scope, after_options, program
from shipmate.safety.shell.risk import HIDDEN, SAFE, Finding, danger
from shipmate.safety.shell.words import ansi_c

NETWORK = frozenset(
    "curl wget nc ncat netcat socat telnet ssh scp sftp ftp http https xh rsync mail mutt sendmail"
    " openssl aria2c lftp rclone iwr irm invoke-webrequest invoke-restmethod".split()
)
REACHING = NETWORK | {"dig", "nslookup", "host", "drill", "ping", "gh", "glab"}
SOURCES = frozenset({"curl", "wget", "base64", "base32", "xxd", "openssl", "gpg", "nc", "ncat"})
"""What comes out of these was not seen by anybody: it came from outside, or was encoded."""
ENVIRONMENT = frozenset({"env", "printenv", "export", "set", "declare"})


def output(words: Sequence[str], feed: str | None, *, substituted: bool = False) -> str:
    """What a command writes, where that is plain from its words; else `HIDDEN`."""
    if not words:
        return ""
    name, args = program(words[0]), list(words[1:])
    match name:
        case ":" | "true":
            return ""
        case "echo":
            return _echo(args)
        case "printf" if args and not args[0].startswith("-"):
            return _printf(args)
        case "cat" | "tee" if name == "tee" or not [a for a in args if a != "-"]:
            return feed or ""
        case _:
            return _looked_up(name, args) if substituted else HIDDEN


def _looked_up(name: str, args: list[str]) -> str:
    """The few programs whose output names a program or the project's folder."""
    operands = [arg for arg in args if not arg.startswith("-")]
    match name, operands:
        case "pwd", _:
            return "."
        case "git", ["rev-parse"] if "--show-toplevel" in args:
            return "."
        case "which" | "command" | "type", [found]:
            return found
        case "basename", [path]:
            return path.rsplit("/", 1)[-1]
        case _:
            return HIDDEN


def _echo(args: list[str]) -> str:
    flags = ""
    while args and re.fullmatch(r"-[neE]+", args[0]):
        flags += args.pop(0)[1:]
    text = " ".join(args)
    text = ansi_c(text) if "e" in flags else text
    return text if "n" in flags else text + "\n"


def _printf(args: list[str]) -> str:
    pattern, values = ansi_c(args[0]), args[1:]
    holes = re.findall(r"%[sbq]", pattern)
    if not holes:
        return pattern.replace("%%", "%") if "%" not in pattern.replace("%%", "") else HIDDEN
    out = list[str]()
    for at in range(0, max(len(values), 1), len(holes)):
        some = iter([*values[at : at + len(holes)], *[""] * len(holes)])
        out.append(re.sub(r"%[sbq]", lambda _, some=some: next(some), pattern))
    return "".join(out)


def remember(scope: Scope, target: str, words: Sequence[str], feed: str | None) -> None:
    """Keep what a command wrote into a file, in case the file is run later."""
    real = places.resolve(target, scope.cwd)
    text = output(words, feed) if words else ""
    outside = bool(words) and (program(words[0]) in SOURCES or HIDDEN in (feed or ""))
    if HIDDEN not in text:
        scope.files[real] = scope.files.get(real, "") + text
    elif outside:
        scope.files[real] = HIDDEN


def downloaded(call: Call, target: str) -> None:
    """`target` now holds what came from the network."""
    call.scope.files[places.resolve(target, call.scope.cwd)] = HIDDEN


def leaks(before: Sequence[Sequence[str]], words: Sequence[str]) -> Iterator[Finding]:
    """Secrets that go through a pipe to the network."""
    if not words or program(words[0]) not in NETWORK:
        return
    for stage in before:
        if stage and (program(stage[0]) in ENVIRONMENT or names_secret(stage)):
            yield danger("exfiltration", "Sends secrets or the environment over the network.")


def names_secret(words: Sequence[str]) -> bool:
    paths = places.paths_in(tuple(words[1:]))
    return any(places.secret(p) or places.secret_shaped(p) for p in paths)


def carried(commands: Iterable[Sequence[str]]) -> Iterator[Finding]:
    """A secret that one command reads where another one reaches the network: whatever leads from
    the one to the other (a variable, a substitution, a file), it is one line."""
    reaching = [words for words in commands if program(words[0]) in REACHING]
    if reaching and any(names_secret(words) for words in commands if words not in reaching):
        yield danger("exfiltration", "Reads what may be secrets, and uses the network.")


def after(words: Sequence[str], scope: Scope) -> None:
    """The changes that a builtin makes to the shell itself."""
    args = tuple(words[1:])
    operands = args[after_options(args) :]
    match words[0]:
        case "cd":
            to = operands[0] if operands else "~"
            scope.cwd = HIDDEN if to == "-" else places.resolve(to, scope.cwd)
        case "pushd" | "popd":
            scope.cwd = HIDDEN
        case "read" | "mapfile" | "readarray" | "getopts":
            scope.variables.update(dict.fromkeys(operands, HIDDEN))
        case "printf" if "-v" in args[:1] and len(args) > 2:
            scope.variables[args[1]] = output(["printf", *args[2:]], None)
        case "set" if "--" in args:
            scope.positional = args[args.index("--") + 1 :]
        case "shift":
            scope.positional = scope.positional[1:] if scope.positional else None
        case "unset":
            scope.variables.update(dict.fromkeys(operands, HIDDEN))
        case _:
            pass


def arithmetic(text: str) -> Iterator[Finding]:
    """An index such as `a[$(x)]` is run by the shell even where it stands in quotes."""
    unseen = HIDDEN if re.search(r"(^|\s)-v\s", text) else "`"
    if re.search(rf"\w\[[^\]]*(\$\(|`|{unseen})", text):
        yield danger("index", "A substitution hides in an array index.")
    else:
        yield SAFE
