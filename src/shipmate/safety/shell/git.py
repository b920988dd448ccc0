"""git: which subcommands read, which lose work, and how it is made to run something."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge, after_options
from shipmate.safety.shell.risk import HIDDEN, SAFE, Finding, Risk, ask, danger

GLOBAL_VALUED = ("git-dir", "work-tree", "namespace", "super-prefix", "config-env", "exec-path")
READING = frozenset(
    "status diff log show rev-parse ls-files ls-tree blame annotate describe grep shortlog cat-file"
    " rev-list name-rev merge-base for-each-ref show-ref count-objects whatchanged diff-tree"
    " diff-index diff-files check-ignore check-attr version help var cherry range-diff"
    " show-branch verify-commit verify-tag fsck".split()
)
LISTING: dict[str, str] = {
    "branch": r"(--(list|show-current|all|remotes|merged|no-merged|contains|points-at|sort\S*"
    r"|format\S*|verbose|column|no-color)(=\S*)?|-(a|r|v|vv|av|avv|l|i))( .*)?|",
    "tag": r"(--(list|contains|points-at|sort\S*|merged)(=\S*)?|-(l|n\d*))( .*)?|",
    "remote": r"(-v|--verbose)?|(show|get-url)( .*)?",
    "stash": r"(list|show)( .*)?",
    "reflog": r"(show( .*)?|-\S+( .*)?|HEAD)?",
    "worktree": r"list( .*)?",
    "config": r"(--(get\S*|list|show-origin|show-scope|global|local|system)|-l|get|list)( .*)?",
    "submodule": r"(status|summary)?",
    "notes": r"(list|show)?( .*)?",
    "bisect": r"(log|view|visualize)",
    "symbolic-ref": r"(--short )?HEAD",
}
"""Subcommands that only list when their arguments match."""
RUNNING_KEY = re.compile(
    r"core\.(pager|sshcommand|editor|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand"
    r"|attributesfile|worktree)|alias\..*|pager\..*|diff\.(external|.*\.(command|textconv))"
    r"|difftool\..*|mergetool\..*|merge\..*\.driver|filter\..*|credential(\..*)?\.helper"
    r"|gpg(\..*)?\.program|gpg\.ssh\..*|sequence\.editor|protocol(\..*)?\.allow"
    r"|include(if)?\..*|init\.templatedir|browser\..*|man\..*|web\.browser|submodule\..*\.update"
    r"|remote\..*\.(uploadpack|receivepack|vcs|proxy|url|pushurl)|uploadpack\..*"
    r"|interactive\.difffilter|trailer\..*|tar\..*|ssh\.variant"
    r"|imap\.tunnel|sendemail\..*|instaweb\..*|guitool\..*",
    re.I,
)
RUNNING_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "grep": ("O", ("open-files-in-pager",)),
    "clone": ("u", ("upload-pack", "template")),
    "fetch": ("", ("upload-pack",)),
    "pull": ("", ("upload-pack",)),
    "ls-remote": ("", ("upload-pack", "exec")),
    "push": ("", ("receive-pack", "exec")),
    "archive": ("", ("exec", "remote")),
    "difftool": ("x", ("extcmd",)),
    "init": ("", ("template",)),
    "send-email": ("", ("sendmail-cmd", "to-cmd", "cc-cmd", "smtp-server")),
}
Rule: TypeAlias = Callable[[Call], Iterator[Finding]]


def judge_git(call: Call) -> Iterator[Finding]:
    at = after_options(call.args, "Cc", GLOBAL_VALUED)
    head = replace(call, words=("git", *call.args[:at]))
    yield from _globals(head)
    rest = call.args[at:]
    if not rest:
        yield SAFE if head.has("v", ("version", "help")) else ask("git", "Runs git.")
        return
    if HIDDEN in rest[0]:
        yield danger("hidden-command", "The git command is not visible.")
        return
    yield from _subcommand(replace(call, words=rest))


def _globals(head: Call) -> Iterator[Finding]:
    for setting in head.values("c"):
        yield configured(setting.partition("=")[0])
    if head.has(long=("exec-path", "config-env")):
        yield danger("git-config", "Makes git run programs from another place.")
    if head.has("p", ("git-dir", "work-tree", "paginate", "namespace")):
        yield ask("git", "Works on another repository.")
    yield from (places.read(path, head.scope) for path in head.values("C"))


def configured(key: str) -> Finding:
    """What a setting given to git means."""
    if RUNNING_KEY.fullmatch(key) or HIDDEN in key:
        return danger("git-config", f"The git setting {key} can make git run programs.")
    return ask("git-config", f"Changes the git setting {key}.")


def _subcommand(call: Call) -> Iterator[Finding]:
    """`call.words[0]` is the subcommand."""
    name, args = call.words[0], call.args
    reading = name in READING
    if name in LISTING:
        reading = re.fullmatch(LISTING[name], " ".join(args)) is not None
    yield SAFE if reading else ask("git", f"git {name} changes something.")
    short, long = RUNNING_OPTIONS.get(name, ("", ()))
    if call.has(short, long) or call.has(long=("ext-diff",)):
        yield danger("runs-program", f"An option of git {name} starts another program.")
    if any(re.match(r"(ext|fd)::", word) for word in args):
        yield danger("git-transport", "The address makes git run a command.")
    if reading:
        yield from _reading(call)
    yield from RULES.get(name, _nothing)(call)


def _nothing(_call: Call) -> Iterator[Finding]:
    yield SAFE


def _reading(call: Call) -> Iterator[Finding]:
    for path in call.values("", ("output",)):
        yield places.write(path, call.scope)
    if call.has(long=("textconv", "no-index", "contents")):
        yield ask("option", "May run a configured program, or read elsewhere.")
    for word in call.args:
        if not word.startswith("-") and call.words[0] != "grep":
            yield _lighter(places.read(word.split(":", 1)[-1], call.scope))


def _lighter(finding: Finding) -> Finding:
    return finding if finding.risk < Risk.DANGEROUS or finding.rule == "secret" else SAFE


def _clone(call: Call) -> Iterator[Finding]:
    for setting in call.values("c", ("config",)):
        yield configured(setting.partition("=")[0])


def _clean(call: Call) -> Iterator[Finding]:
    if not call.has("n", ("dry-run",)):
        yield danger("git-clean", "Deletes files that git does not know.")


def _push(call: Call) -> Iterator[Finding]:
    refs = call.operands("o", ("push-option", "repo", "receive-pack", "exec"))
    if call.has("f", ("force", "force-with-lease", "mirror", "prune")):
        yield danger("git-push-force", "Rewrites or deletes what is on the remote.")
    if any(ref.startswith(("+", ":")) for ref in refs) or call.has("d", ("delete",)):
        yield danger("git-push-force", "Rewrites or deletes what is on the remote.")


def _reset(call: Call) -> Iterator[Finding]:
    if call.has(long=("hard", "merge")):
        yield danger("git-discard", "Discards changes that are not committed.")


def _checkout(call: Call) -> Iterator[Finding]:
    everything = {".", "*", ":/", "./", ":"} & set(call.args)
    if call.has("f", ("force", "discard-changes")) or (everything and call.words[0] == "checkout"):
        yield danger("git-discard", "Discards changes that are not committed.")
    if call.words[0] == "restore" and everything and not call.has("S", ("staged",)):
        yield danger("git-discard", "Discards changes that are not committed.")


def _branch(call: Call) -> Iterator[Finding]:
    forced = call.has("d", ("delete",)) and call.has("f", ("force",))
    if call.has("D") or forced:
        yield danger("git-delete", "Deletes a branch with what is only there.")


def _stash(call: Call) -> Iterator[Finding]:
    if {"drop", "clear"} & set(call.args[:1]):
        yield danger("git-discard", "Deletes stashed work.")


def _delete(call: Call) -> Iterator[Finding]:
    if {"expire", "delete", "remove", "prune"} & set(call.args[:1]) and call.words[0] != "worktree":
        yield danger("git-delete", "Deletes history that cannot be brought back.")
    if call.words[0] == "worktree" and call.has("f", ("force",)):
        yield danger("git-discard", "Deletes a working folder with its changes.")
    if call.words[0] == "update-ref" and call.has("d", ("stdin",)):
        yield danger("git-delete", "Deletes a reference.")


def _rewrite(_call: Call) -> Iterator[Finding]:
    yield danger("git-rewrite", "Rewrites the whole history.")


def _remove(call: Call) -> Iterator[Finding]:
    if call.has("f", ("force",)) and not call.has(long=("cached",)):
        yield danger("rm-rf", "Deletes files by force.")


def _prune(call: Call) -> Iterator[Finding]:
    if re.search(r"--prune=(now|all)|--expire=(now|all)", " ".join(call.args)):
        yield danger("git-delete", "Deletes history that cannot be brought back.")


def _config(call: Call) -> Iterator[Finding]:
    at = after_options(call.args, "f", ("file", "blob", "type", "default", "comment"))
    words = [word for word in call.args[at:] if word not in {"set", "--add", "--replace-all"}]
    reading = call.has("l", ("get", "get-all", "get-regexp", "list", "unset", "unset-all"))
    if len(words) > 1 and not reading and words[0] not in {"get", "list", "unset"}:
        yield configured(words[0])
    if call.has("e", ("edit",)):
        yield ask("editor", "Opens an editor.")


def _inner(call: Call) -> Iterator[Finding]:
    """Subcommands that are given a command to run."""
    name, args = call.words[0], call.args
    if name == "bisect" and args[:1] == ("run",):
        yield call.run(args[1:])
    if name == "submodule" and "foreach" in args:
        yield call.script(
            " ".join(a for a in args[args.index("foreach") + 1 :] if a != "--recursive"), "sh"
        )
    if name == "rebase":
        yield from (call.script(text, "sh") for text in call.values("x", ("exec",)))


RULES: dict[str, Rule] = {
    "clone": _clone,
    "clean": _clean,
    "push": _push,
    "reset": _reset,
    "checkout": _checkout,
    "restore": _checkout,
    "switch": _checkout,
    "branch": _branch,
    "stash": _stash,
    "reflog": _delete,
    "worktree": _delete,
    "update-ref": _delete,
    "filter-branch": _rewrite,
    "filter-repo": _rewrite,
    "rm": _remove,
    "gc": _prune,
    "prune": _prune,
    "config": _config,
    "bisect": _inner,
    "submodule": _inner,
    "rebase": _inner,
}
JUDGES: dict[str, Judge] = {"git": judge_git}
