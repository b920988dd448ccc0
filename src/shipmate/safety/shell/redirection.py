"""Redirections of bash: what they write, and what they make of standard input."""

import re
from typing import Any, Protocol

from shipmate.safety.shell import flow, places
from shipmate.safety.shell.call import Scope
from shipmate.safety.shell.expansion import PIPE, joined
from shipmate.safety.shell.prepare import Prepared
from shipmate.safety.shell.risk import HERE, HIDDEN, STRING, Finding

WRITES = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})


class Walker(Protocol):
    """What redirections need of the walk through a script."""

    scope: Scope
    found: list[Finding]
    prepared: Prepared

    def text(self, node: Any) -> str: ...
    def substitution(self, node: Any, feed: str | None = None) -> str: ...
    def document(self, body: str) -> str: ...
    def backquoted(self, text: str) -> Finding: ...


def operator(redirect: Any) -> str:
    return next((child.type for child in redirect.children if not child.is_named), "")


def writes(redirect: Any) -> bool:
    return operator(redirect) in WRITES


def swallowed(walker: Walker, redirect: Any) -> list[str]:
    """Words after the target belong to the command; the parser counts them to the target."""
    return _words(walker, redirect)[1:]


def _words(walker: Walker, redirect: Any) -> list[str]:
    """The target, and what the parser took for more of them."""
    targets = [child for child in redirect.named_children if child.type != "file_descriptor"]
    return joined(walker, targets)


def judge(walker: Walker, redirect: Any, words: list[str], feed: str | None) -> str | None:
    """Judge one redirection of the command `words`; gives what standard input is after it."""
    targets = _words(walker, redirect)
    target = targets[0] if targets else ""
    if target[:1] in {HERE, STRING}:
        return _here(walker, target)
    if not targets or (operator(redirect) in {">&", "<&"} and re.fullmatch(r"\d*-?", target)):
        return feed
    if writes(redirect):
        walker.found.append(places.write(target, walker.scope))
        flow.remember(walker.scope, target, words, feed)
        return feed
    if target.startswith(PIPE):
        return HIDDEN
    walker.found.append(places.read(target, walker.scope))
    return walker.scope.files.get(places.resolve(target, walker.scope.cwd))


def _here(walker: Walker, text: str) -> str:
    """The text of a here-string, or of the here-document that it stands for."""
    match = re.fullmatch(rf"{HERE}(\d+)", text)
    if not match or int(match[1]) >= len(walker.prepared.documents):
        return text[1:] + "\n"
    document = walker.prepared.documents[int(match[1])]
    if document.literal or not re.search(r"[$`]", document.body):
        return document.body
    for each in re.findall(r"(?<!\\)`((?:\\.|[^`\\])*)`", document.body, re.S):
        walker.found.append(walker.backquoted(each))
    return walker.document(document.body)
