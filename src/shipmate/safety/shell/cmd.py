"""Commands of cmd.exe: a small tokenizer, enough to find the programs that would run."""

import re
from collections.abc import Iterator
from dataclasses import replace

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Inquiry, Scope
from shipmate.safety.shell.risk import HIDDEN, Finding, ask, block, danger, worst

TOKEN = re.compile(
    r"""(?P<escape>\^\n?.?) | (?P<quoted>"[^"]*"?) | (?P<end>&&|\|\||[&|\n()])
    | (?P<redirect>\d?>>?(?:&\d)?|<) | (?P<blank>[ \t,;=]+) | (?P<variable>%[^%\s]*%|![^!\s]+!)
    | (?P<plain>.)""",
    re.X | re.S,
)
SET = re.compile(r"\bset\s+(?:\"(\w+)=([^\"]*)\"|(\w+)=([^&|\n]*))", re.I)
ITEMS = re.compile(r"\bin\s*\(([\w\s.,;-]*)\)\s*do\b", re.I)
"""A set of plain names: neither patterns nor numbers of `/l`."""
MAX_ITEMS = 8
KNOWN = {"%comspec%": "cmd", "%systemroot%": r"C:\Windows", "%windir%": r"C:\Windows", "%cd%": "."}
FOR = re.compile(
    r"\bfor\s+(?:/[dlr]\s+(?:[^\s%(]+\s+)?)?%%?(\w)\s+in\s*\([^()'\"`|&<>]*\)\s*do\b", re.I
)
"""The head of a loop whose set is names, patterns or numbers; not what `for /f` runs."""
FOR_OUTPUT = re.compile(
    r"\bfor\s+/f\s+(?:\"[^\"]*\"\s+)?%%?\w\s+in\s*\(\s*(['`])(.*?)\1\s*\)", re.I | re.S
)
"""`for /f` over what a command writes."""
SKIPPED = re.compile(
    r"""^(?:@+|do\b|else\b|if\s+(?:/i\s+)?(?:not\s+)?(?:exist\s+\S+|errorlevel\s+\d+|defined\s+\S+
    |\S+\s*(?:==|equ|neq|lss|leq|gtr|geq)\s*\S+)|for\s+(?:/\w\s+(?:\S+\s+)?)?%%?\w\s+in\b)\s*""",
    re.I | re.X,
)


def judge_cmd_script(inquiry: Inquiry, text: str, scope: Scope, feed: str | None = None) -> Finding:
    """The worst of what cmd would run."""
    found: list[Finding] = []
    if re.search(r"%0\s*\|\s*%0", text):
        found.append(block("fork-bomb", "A script that starts itself without end."))
    if text.count('"') % 2:
        found.append(ask("syntax", "A quote is not closed."))
    found += [inquiry.script(inner, "cmd", scope, None) for _, inner in FOR_OUTPUT.findall(text)]
    if FOR.search(text):
        found.append(ask("control", "The command is a loop."))
        text = _unrolled(text)
    scope = replace(scope, shell="cmd", variables=_assigned(text), functions={})  # noqa: S604
    for command, piped in _commands(text):
        words, targets, fed = _words(command, scope.variables)
        found.extend(places.write(t.replace("\\", "/"), scope) for t in targets if not _nul(t))
        if words and HIDDEN in words[0]:
            found.append(danger("hidden-command", "The name of the command is not visible."))
        elif words:
            found.append(inquiry.command(words, scope, HIDDEN if piped or fed else feed))
    return worst(found)


def _assigned(text: str) -> dict[str, str]:
    """The variables that the text sets to one value."""
    found = dict[str, str]()
    for quoted, inner, name, value in SET.findall(text):
        key, given = (quoted or name).lower(), inner if quoted else value
        found[key] = given if found.get(key, given) == given else HIDDEN
    return found


def _unrolled(text: str) -> str:
    """Bodies of loops over names alone: the loop's variable is one that is not known."""
    while match := FOR.search(text):
        items = ITEMS.search(match[0])
        values = re.split(r"[\s,;]+", items[1].strip()) if items else []
        known = (
            values if 0 < len(values) <= MAX_ITEMS and "/l" not in match[0].lower() else ["%item%"]
        )
        variable = re.compile(rf"%%?(~\w*)?{match[1]}(?![\w%])")
        bodies = [variable.sub(lambda _, v=v: v, text[match.end() :]) for v in known]
        text = text[: match.start()] + "\n".join(bodies)
    return text


def _nul(target: str) -> bool:
    return target.lower() in {"nul", "con", ""}


def _commands(text: str) -> Iterator[tuple[str, bool]]:
    """The text of each command, and whether it reads from a pipe."""
    start, piped = 0, False
    for match in TOKEN.finditer(text):
        if match.lastgroup == "end":
            yield text[start : match.start()].strip(), piped
            start, piped = match.end(), match[0] == "|"
    yield text[start:].strip(), piped


def _words(command: str, variables: dict[str, str]) -> tuple[list[str], list[str], bool]:
    """The words of a command, the targets of its redirections, and whether it reads a file."""
    previous = ""
    while command != previous:
        previous, command = command, SKIPPED.sub("", command.strip())
    if re.match(r"rem\b|::", command, re.I):
        return [], [], False
    words, targets, word = list[str](), list[str](), ""
    redirecting = fed = False
    for kind, piece in words_of(command, variables):
        fed |= kind == "redirect" and piece == "<"
        if kind in {"blank", "redirect"}:
            (targets if redirecting and word else words).extend([word] if word else [])
            redirecting = redirecting and not word
            word = ""
            redirecting |= kind == "redirect" and ">" in piece and "&" not in piece
        else:
            word += piece
    (targets if redirecting else words).extend([word] if word else [])
    return _glued(words), targets, fed


def words_of(command: str, variables: dict[str, str]) -> Iterator[tuple[str, str]]:
    for match in TOKEN.finditer(command):
        kind, piece = str(match.lastgroup), match[0]
        if kind == "escape":
            piece = piece[1:].removeprefix("\n")
        elif kind == "quoted":
            piece = piece.strip('"')
        elif kind == "variable":
            if given := variables.get(piece[1:-1].lower()):
                yield from words_of(given, {})
                continue
            piece = KNOWN.get(piece.lower(), HIDDEN)
        yield kind, piece


def _glued(words: list[str]) -> list[str]:
    """`FORMAT/Q` and `cd..` are a name and its first argument; `echo.` is echo."""
    match = re.fullmatch(r"([\w.-]+?)([/.][^\\]*)", words[0]) if words else None
    if match and (match[2].startswith("/") or match[1].lower() in {"cd", "echo"}):
        return [match[1], match[2], *words[1:]]
    return words
