"""sed, awk, find, tar and others that read, and can run programs or write on the side."""

import itertools
import re
from collections.abc import Iterator

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge
from shipmate.safety.shell.risk import HIDDEN, Finding, Risk, ask, block, danger

SED_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|[^/\\])*/[IM]*|\\%.*?%[IM]*|\\\|.*?\|[IM]*|[+~]\d+)"
SED_PLAIN = re.compile(r"[{}=dDgGhHnNpPxlqQzF]\s*\d*|:\s*\w+|[btT]\s*\w*|[aic]\\?[^\n]*")
SED_RUNS = danger("runs-program", "The sed script runs a command.")
PIPES_TO = frozenset("sort uniq wc cat head tail column".split())
COMPRESSORS = re.compile(
    r"(gzip|pigz|bzip2|pbzip2|xz|pixz|zstd|zstdmt|lz4|lzma|lzip|brotli)( -\S+)*"
)


def judge_sed(call: Call) -> Iterator[Finding]:
    scripts = call.values("e", ("expression",))
    operands = call.operands("efl", ("expression", "file", "line-length"))
    if not scripts and not call.has("f", ("file",)):
        scripts, operands = operands[:1], operands[1:]
    in_place = any(re.match(r"-[nErsuz]*i|--in-place", word) for word in call.options())
    for script in scripts:
        yield from _sed_script(call, script)
    if any(path.startswith("/dev/fd/") for path in call.values("f", ("file",))):
        yield danger("unseen-code", "The sed script comes from a command.")
    for path in operands:
        yield places.write(path, call.scope) if in_place else places.read(path, call.scope)
    if call.has("f", ("file",)) or in_place:
        yield ask("write", "sed changes files, or its script is in a file.")


def _sed_script(call: Call, script: str) -> Iterator[Finding]:
    """Each command of a sed script; what is not understood asks."""
    rest = script.strip()
    while rest:
        rest = _sed_skip(rest)
        if not rest:
            return
        if rest[0] in "sy":
            flags, rest = _sed_substitute(rest)
            yield from _sed_flags(call, flags)
        elif match := re.match(r"[wWrR]\s*([^\n;}]*)", rest):
            reads = match[0][0] in "rR"
            yield places.read(match[1], call.scope) if reads else _sed_write(call, match[1])
            rest = rest[match.end() :]
        elif rest[0] == "e":
            yield SED_RUNS
            return
        elif match := SED_PLAIN.match(rest):
            rest = rest[match.end() :]
        else:
            yield ask("sed", "The sed script is not understood.")
            return


def _sed_skip(rest: str) -> str:
    rest = rest.lstrip(" \t\n;")
    rest = re.sub(rf"^{SED_ADDRESS}(?:\s*,\s*{SED_ADDRESS})?", "", rest, count=1)
    return rest.lstrip(" \t!")


def _sed_substitute(rest: str) -> tuple[str, str]:
    """The flags of `s/a/b/flags`, and what follows."""
    mark = re.escape(rest[1:2] or "/")
    part = rf"(?:\\.|\[[^\]]*\]|(?!{mark})[^\\])*?"
    match = re.match(
        rf"[sy]{mark}{part}{mark}(?:\\.|(?!{mark})[^\\])*{mark}([^\n;}}]*)", rest, re.S
    )
    return (match[1], rest[match.end() :]) if match else ("?", "")


def _sed_flags(call: Call, flags: str) -> Iterator[Finding]:
    head, _, target = flags.partition("w")
    if "e" in head:
        yield SED_RUNS
    elif not re.fullmatch(r"[gpiImM\d\s]*", head):
        yield ask("sed", "The sed script is not understood.")
    if target.strip():
        yield _sed_write(call, target.strip())


def _sed_write(call: Call, path: str) -> Finding:
    found = places.write(path.strip(), call.scope)
    return found if found.risk > Risk.ASK else ask("write", "The sed script writes a file.")


def judge_awk(call: Call) -> Iterator[Finding]:
    """awk is a language: it asks, and is red where it runs commands."""
    yield ask("code", "Runs an awk program.")
    text = "\n".join(call.args)
    if re.search(r"\bsystem\s*\(|@load|\|&|getline\b.*\|", text) or re.search(
        r'"[^"]*"\s*\|\s*getline|\|\s*getline', text
    ):
        yield danger("runs-program", "The awk program runs commands.")
    for target in re.findall(r"\|\s*\"([^\"]*)\"", text):
        if target.split(" ")[0] not in PIPES_TO:
            yield danger("runs-program", "The awk program pipes into a command.")
    if re.search(r"print[^;}]*\|\s*[A-Za-z$(]", text):
        yield danger("runs-program", "The awk program pipes into a command.")
    for target in re.findall(r">>?\s*\"([^\"]+)\"", text):
        yield places.write(target, call.scope)
    yield from (f for f in places.reads(call.args[1:], call.scope) if f.risk > Risk.ASK)


NARROWING = frozenset("-name -iname -path -ipath -regex -iregex -wholename".split())


def judge_find(call: Call) -> Iterator[Finding]:
    words = list(call.args)
    starts = [w for w in words[: _first_test(words)] if not w.startswith("-")]
    yield from (places.read(start, call.scope) for start in starts)
    roots = [s for s in starts if places.is_root(places.resolve(s, call.scope.cwd))]
    for at, word in enumerate(words):
        if word == "-delete":
            yield danger("find-delete", "Deletes what is found.")
            if roots and not _narrowed(words):
                yield block("delete-root", "Deletes a root, a home or a whole system folder.")
        elif word in {"-exec", "-execdir", "-ok", "-okdir"}:
            yield from _exec(call, words[at + 1 :], roots)
        elif word in {"-fprint", "-fprintf", "-fls", "-fprint0"}:
            yield from (places.write(path, call.scope) for path in words[at + 1 : at + 2])
        elif word == "-files0-from" or HIDDEN in word:
            yield ask("hidden-text", "What is searched is not visible.")


def _narrowed(words: list[str]) -> bool:
    """Whether a test keeps it from finding all there is."""
    if not {"-o", "-or", "!", "-not", ","}.isdisjoint(words):
        return False
    tests = itertools.pairwise(words)
    return any(test in NARROWING and re.search(r"[^*./]", value) for test, value in tests)


def _first_test(words: list[str]) -> int:
    tests = (at for at, w in enumerate(words) if re.match(r"-(?![HLPDO])|[(!]", w))
    return next(tests, len(words))


def _exec(call: Call, words: list[str], roots: list[str]) -> Iterator[Finding]:
    end = next((at for at, word in enumerate(words) if word in {";", "+"}), len(words))
    found = [roots[0] if roots else f"./{HIDDEN}"]
    inner = [word.replace("{}", found[0]) for word in words[:end]]
    yield ask("find-exec", "Runs a command on what is found.")
    yield call.run(inner)


def judge_fd(call: Call) -> Iterator[Finding]:
    """`fd` (find) with `-x` and `-X`."""
    words = list(call.args)
    at = next((i for i, w in enumerate(words) if w in {"-x", "-X", "--exec", "--exec-batch"}), None)
    before = words if at is None else words[:at]
    yield from places.reads(tuple(before), call.scope)
    if at is not None:
        yield from _exec(call, words[at + 1 :], [])


def judge_tar(call: Call) -> Iterator[Finding]:
    """tar: listing reads; packing and unpacking ask; its hooks are red."""
    yield ask("archive", "Packs or unpacks an archive.")
    action = " ".join(call.values("", ("checkpoint-action",)))
    if (
        call.has("F", ("to-command", "rsh-command", "info-script", "new-volume-script"))
        or "exec" in action
    ):
        yield danger("runs-program", "An option of tar starts another program.")
    for chosen in call.values("I", ("use-compress-program",)):
        if not COMPRESSORS.fullmatch(chosen):
            yield danger("runs-program", "An option of tar starts another program.")
    yield from (f for f in places.reads(call.args, call.scope) if f.rule == "secret")
    if call.has(long=("remove-files", "absolute-names")) or call.has("P"):
        yield danger("destroy", "Deletes what it packs, or writes outside the folder.")
    extracting = re.match(r"-?\w*x", " ".join(call.args[:1])) or call.has(long=("extract", "get"))
    if extracting:
        targets = call.values("C", ("directory", "cd"))
        yield from (places.write(f"{path}/x", call.scope) for path in targets)
        if any(places.is_root(places.resolve(path, call.scope.cwd)) for path in targets):
            yield danger("system-file", "Unpacks over a root, a home or a system folder.")


def judge_zip(call: Call) -> Iterator[Finding]:
    yield ask("archive", "Packs or unpacks an archive.")
    if any(w.startswith(("-TT", "--unzip-command")) for w in call.args):
        yield danger("runs-program", "An option of zip starts another program.")
    if call.has("m", ("move",)) and call.name == "zip":
        yield danger("destroy", "Deletes what it packs.")
    yield from (f for f in places.reads(call.args, call.scope) if f.rule == "secret")


JUDGES: dict[str, Judge] = {
    **dict.fromkeys(("sed", "gsed"), judge_sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), judge_awk),
    **dict.fromkeys(("find", "gfind"), judge_find),
    **dict.fromkeys(("fd", "fdfind"), judge_fd),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), judge_tar),
    **dict.fromkeys(("zip", "unzip", "7z", "7za", "rar", "unrar"), judge_zip),
}
