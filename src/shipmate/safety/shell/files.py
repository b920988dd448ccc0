"""Programs that delete, move, copy, link, or change the rights of files."""

import re
from collections.abc import Iterator

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge
from shipmate.safety.shell.flow import downloaded
from shipmate.safety.shell.risk import HIDDEN, Finding, Risk, ask, block, danger

EVERYTHING = re.compile(r"(\./)?(\*|\.\*|\*\*|\.\[!\.\]\*)|\.|\.\.|\./|\.git/?")


def judge_rm(call: Call) -> Iterator[Finding]:
    """`rm`: red with recursion, force, or where everything goes; root and home are blocked."""
    yield ask("delete", "Deletes files.")
    recursive, force = call.has("rR", ("recursive",)), call.has("f", ("force",))
    targets = call.operands()
    roots = [t for t in targets if places.is_root(places.resolve(t, call.scope.cwd))]
    if call.has(long=("no-preserve-root",)) or (recursive and roots):
        yield block("delete-root", "Deletes a root, a home or a whole system folder.")
    if recursive or force:
        yield danger("rm-rf", "Deletes files recursively or by force.")
    if any(EVERYTHING.fullmatch(target) for target in targets):
        yield danger("delete-everything", "Deletes everything in a folder.")
    if any(re.match(r"-.*[*?\[]", word) for word in call.options()):
        yield danger("hidden-option", "An option is hidden in a pattern.")
    yield from _changes(call, targets)


def judge_copy(call: Call) -> Iterator[Finding]:
    """`cp`, `install`, `mv`: what is written last, what is read first."""
    yield ask("write", "Copies or moves files.")
    into = call.values("t", ("target-directory",))
    operands = call.operands("tSmog", ("target-directory", "suffix", "mode", "owner", "group"))
    targets = into or operands[-1:]
    sources = operands if into else operands[:-1]
    if call.name == "mv" and any(target == "/dev/null" for target in targets):
        yield danger("destroy", "Moving a file to /dev/null destroys it.")
    for target in targets:
        yield places.write(target, call.scope)
        for source in sources:
            yield from _inside(call, target, source)
    yield from (f for s in sources if (f := places.read(s, call.scope)).risk > Risk.ASK)
    if call.name == "mv":
        yield from _changes(call, sources)
    if call.name == "install" and re.search(r"-\S*m\s*[0-7]*[4267][0-7]{3}", " ".join(call.args)):
        yield danger("setuid", "Makes a program that runs with its owner's rights.")


def _inside(call: Call, target: str, source: str) -> Iterator[Finding]:
    """A folder as the target: the file has the same name in it."""
    if target.endswith("/") or target in {".", "~"}:
        yield places.write(f"{target.rstrip('/')}/{source.rstrip('/').split('/')[-1]}", call.scope)


def _changes(call: Call, targets: list[str]) -> Iterator[Finding]:
    yield from (places.write(target, call.scope) for target in targets)
    if any(places.is_root(places.resolve(t, call.scope.cwd)) for t in targets):
        yield danger("system-folder", "Touches a root, a home or a system folder.")


def judge_rights(call: Call) -> Iterator[Finding]:
    """`chmod`, `chown`, `chgrp`: red when recursive, for everybody, or with set-user-id."""
    yield ask("rights", "Changes the rights or the owner of files.")
    operands = [w for w in call.args if not re.fullmatch(r"-[RfvchLHP]+|--\w.*", w)]
    if call.has("R", ("recursive",)):
        yield danger("rights-recursive", "Changes rights or owners of everything in a folder.")
    if call.name == "chmod" and operands:
        mode = operands[0]
        if re.search(r"(^|,)[ugoa]*[+=][rwxX]*s", mode) or re.fullmatch(r"0?[2-7][0-7]{3}", mode):
            yield danger("setuid", "Makes a program that runs with its owner's rights.")
        if re.fullmatch(r"0?[0-7]{2}[2367]", mode) or re.search(r"(^|,)(o|a)[ugoa]*[+=]\w*w", mode):
            yield danger("world-writable", "Lets everybody write.")
    yield from _changes(call, operands[1:])


def judge_link(call: Call) -> Iterator[Finding]:
    yield ask("write", "Makes a link.")
    operands = call.operands("tS", ("target-directory", "suffix"))
    if any(places.is_root(places.resolve(o, call.scope.cwd)) for o in operands[:1]):
        yield danger("link-outside", "Links to a root, a home or a system folder.")
    if operands and places.secret(places.resolve(operands[0], call.scope.cwd)):
        yield danger("secret", "Links to a place where keys are kept.")
    yield from (places.write(o, call.scope) for o in operands[-1:] if len(operands) > 1)


def judge_writer(call: Call) -> Iterator[Finding]:
    """`touch`, `tee`, `mkdir`: every operand is written."""
    yield ask("write", "Writes files.")
    yield from (places.write(path, call.scope) for path in call.operands("rdmt"))
    if call.name == "tee" and call.feed is not None and HIDDEN in call.feed:
        for path in call.operands():
            downloaded(call, path)


def judge_truncate(call: Call) -> Iterator[Finding]:
    yield ask("write", "Changes the size of files.")
    if any(re.fullmatch(r"[<]?0\w*", value) for value in call.values("s", ("size",))):
        yield danger("destroy", "Empties files.")
    yield from (places.write(path, call.scope) for path in call.operands("sr", ("size",)))


def judge_shred(call: Call) -> Iterator[Finding]:
    yield danger("destroy", "Destroys files beyond recovery.")
    yield from _changes(call, call.operands("ns", ("iterations", "size")))


JUDGES: dict[str, Judge] = {
    "rm": judge_rm,
    **dict.fromkeys(("cp", "mv", "install", "gcp", "ditto"), judge_copy),
    **dict.fromkeys(("chmod", "chown", "chgrp", "setfacl", "chattr"), judge_rights),
    "ln": judge_link,
    **dict.fromkeys(
        ("touch", "tee", "mkdir", "rmdir", "unlink", "sponge", "mkfifo", "mknod"), judge_writer
    ),
    "truncate": judge_truncate,
    **dict.fromkeys(("shred", "srm", "wipe"), judge_shred),
}
