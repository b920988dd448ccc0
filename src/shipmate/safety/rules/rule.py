"""A rule of the user's, and what the rules together say of a call: deny, then ask, then allow."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

from shipmate.safety.rules import limits, pattern
from shipmate.safety.rules.pattern import Pattern
from shipmate.safety.verdict import Level, Subject, Verdict

Effect: TypeAlias = Literal["deny", "ask", "allow"]
KeptScope: TypeAlias = Literal["session", "project", "everywhere"]


class Rule(Struct, frozen=True, kw_only=True):
    """One rule. What it names is its `text` (`safety.rules.pattern`), and nothing else."""

    id: str
    effect: Effect
    text: str
    scope: KeptScope
    project: str = ""
    """Of a rule for one project."""
    session: str = ""
    """Of a rule for one session, which goes with it."""
    enabled: bool = True
    created_at: int = 0
    """Milliseconds since 1970 UTC."""
    approval: str = ""
    """The approval it was saved with; empty where it was written by hand."""

    def holds(self, session: str, project: str) -> bool:
        """Whether it is in force there."""
        if not self.enabled:
            return False
        match self.scope:
            case "session":
                return self.session == session
            case "project":
                return self.project == project
            case "everywhere":
                return True


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rules say of a call."""

    effect: Effect | Literal[""] = ""
    rules: tuple[Rule, ...] = ()
    """Those that decided it."""

    @property
    def text(self) -> str:
        return "; ".join(dict.fromkeys(rule.text for rule in self.rules))


NONE = Ruling()


@lru_cache(maxsize=1024)
def pattern_of(text: str, effect: Effect) -> Pattern:
    """The pattern of a rule; `RuleError` when there can be no such rule."""
    found = pattern.parse(text)
    if effect == "allow":
        limits.check_allowing(found)
    return found


def ruled(rules: Iterable[Rule], tool: str, verdict: Verdict) -> Ruling:
    """What `rules`, all of them in force, say of a call of `tool`. Nothing is said of what is
    refused: built-in refusals win over everything."""
    if verdict.level is Level.REFUSE:
        return NONE
    kept = tuple(rules)
    if not kept:
        return NONE
    named = Subject("tool", tool)
    touched = (*verdict.touches, *verdict.covers, named)
    for effect in ("deny", "ask"):
        for rule in kept:
            if rule.effect == effect and _concerns(rule, touched):
                return Ruling(effect, (rule,))
    return _allowed([rule for rule in kept if rule.effect == "allow"], named, verdict)


def _concerns(rule: Rule, subjects: Sequence[Subject]) -> bool:
    found = pattern_of(rule.text, rule.effect)
    return any(found.concerns(subject) for subject in subjects)


def _allowed(rules: Sequence[Rule], tool: Subject, verdict: Verdict) -> Ruling:
    """Each part must be named. What is red only by a rule that names just this and no more."""
    if verdict.level is Level.ALLOW:
        return NONE
    parts = verdict.covers
    if not parts and not verdict.touches and verdict.level is Level.ASK:
        parts = (tool,)
    red = verdict.level is Level.DANGER
    found: list[Rule] = []
    for part in parts:
        naming = (rule for rule in rules if _names(rule, part, red=red))
        if (rule := next(naming, None)) is None:
            return NONE
        found.append(rule)
    return Ruling("allow", tuple(found)) if found else NONE


def _names(rule: Rule, part: Subject, *, red: bool) -> bool:
    found = pattern_of(rule.text, rule.effect)
    return found.names(part) and (found.exact or not red)


def suggested(tool: str, verdict: Verdict) -> tuple[str, ...]:
    """The rules that a decision on this call can be saved as, each as its whole text. All of
    them together cover the parts that needed asking, and nothing else than they say."""
    if verdict.level is Level.REFUSE:
        return ()
    if verdict.suggested:
        return verdict.suggested
    parts = verdict.covers
    if not parts and not verdict.touches:
        parts = (Subject("tool", tool),)
    texts = tuple(pattern.spelled(part) for part in parts)
    return texts if all(texts) else ()


def folders(paths: Iterable[str], kind: str = "write") -> tuple[str, ...]:
    """The rules for the folders of some files; of a file directly in the project, for itself."""
    texts: dict[str, None] = {}
    for path in paths:
        above = path.rpartition("/")[0]
        name = f"{above}/**" if above else path
        subject = Subject(kind, path)
        if not pattern.spelled(subject) or (above and not pattern.spelled(Subject(kind, above))):
            return ()  # the name holds what a rule would read as more than itself
        texts[f"{kind}:{name}"] = None
    return tuple(texts)


def checked(rule: Rule) -> Rule:
    """The same rule; `RuleError` when there can be none with this text and effect."""
    pattern_of(rule.text, rule.effect)
    return rule
