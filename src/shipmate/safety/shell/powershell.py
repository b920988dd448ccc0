"""A PowerShell script: every command in it, wherever it stands, is judged."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shipmate.safety.shell import environment, grammar, places
from shipmate.safety.shell.call import Inquiry, Scope
from shipmate.safety.shell.cmdlets import ALIASES, JUDGES, PROFILE, cmdlet
from shipmate.safety.shell.risk import HIDDEN, Finding, ask, danger, worst

PLAIN = frozenset({"string_literal", "integer_literal", "real_literal"})
CALLS = re.compile(
    r"\]::(delete|start|frombase64string|loadfile|load|writeall\w+|move|replace)\b"
    r"|\.(downloadstring|downloadfile|delete|invoke|invokescript|kill|create|start)\s*\("
    r"|::setenvironmentvariable\(.*,\s*['\"\]\[\w.:]*(machine|user)['\"]?\s*\)"
    r"|\[scriptblock\]|\[system\.reflection|add-type|-join|-replace.*iex",
    re.I,
)
SPLAT = re.compile(r"@\w+")
"""Arguments that are kept in a variable."""
DASH = re.compile("^[\u2013\u2014\u2015](?=[A-Za-z])")
"""PowerShell takes these for the sign before a parameter."""
STRUCTURE = frozenset({"assignment_expression", "invokation_expression", "script_block_expression",
                       "sub_expression", "if_statement", "while_statement", "foreach_statement",
                       "function_statement", "try_statement", "type_literal"})  # fmt: skip


def judge_powershell_script(
    inquiry: Inquiry, text: str, scope: Scope, feed: str | None = None
) -> Finding:
    """The worst of what PowerShell would run."""
    source = text.encode("utf-8", "replace")
    root = grammar.powershell().parse(source).root_node
    scope = replace(scope, shell="powershell", variables={}, functions={})  # noqa: S604 - a name, nothing runs
    script = _Script(inquiry, source, scope, feed)
    if root.has_error:
        script.found.append(ask("syntax", "The command cannot be parsed as PowerShell."))
        script.crude(text)
    if CALLS.search(text):
        script.found.append(
            danger("runs-program", "A method deletes, downloads or runs something.")
        )
    script.walk(root)
    return worst(script.found)


class _Script:
    def __init__(self, inquiry: Inquiry, source: bytes, scope: Scope, feed: str | None) -> None:
        self.inquiry = inquiry
        self.source = source
        self.scope = scope
        self.feed = feed
        self.found: list[Finding] = []
        self.aliases: dict[str, str] = {}

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def crude(self, text: str) -> None:
        for part in re.split(r"[;|&\n{}()]+", text):
            words = [word.strip("'\"").replace("`", "") for word in part.split()]
            if words:
                self.found.append(self.inquiry.command(words, self.scope, None))

    def walk(self, node: Any, before: tuple[str, ...] = ()) -> None:
        if node.type == "command":
            self.command(node, before)
        elif node.type == "assignment_expression":
            self.assign(node)
        elif node.type == "redirection":
            self.redirect(node)
        if node.type in STRUCTURE:
            self.found.append(ask("control", "More than plain commands."))
        for child in node.named_children:
            self.walk(child, before)
            if node.type == "pipeline_chain":
                before = (*before, self.text(child).strip())

    def assign(self, node: Any) -> None:
        text = self.text(node)
        if match := re.fullmatch(r"\$env:(\w+)\s*(\+?=)\s*(.*)", text, re.S | re.I):
            given = HIDDEN if match[2] == "+=" else _head(match[3])
            self.found.append(environment.assignment(match[1].upper(), given))
        if match := re.fullmatch(r"\$(\w+)\s*=\s*(.*)", text, re.S):
            name, value = match[1].lower(), literal(match[2].strip())
            again = self.scope.variables.get(name, value) != value
            self.scope.variables[name] = HIDDEN if again else value

    def redirect(self, node: Any) -> None:
        target = re.sub(r"^[\d*]?>+\s*", "", self.text(node))
        if PROFILE.search(target):
            self.found.append(danger("guarded-place", "Changes a startup file."))
        elif not re.match(r"\$null$|&\d", target.lower()):
            self.found.append(places.write(string(target).replace("\\", "/"), self.scope))

    def command(self, node: Any, before: tuple[str, ...]) -> None:
        words = list(self.words(node))
        if not words or HIDDEN in words[0] or not words[0]:
            self.found.append(danger("hidden-command", "The name of the command is not visible."))
            return
        name = cmdlet(words[0])
        meant = self.aliases.get(name) or ALIASES.get(name, name)
        words[0] = meant if meant != name or name in JUDGES else words[0]
        if meant in {"set-alias", "new-alias"}:
            self.alias([word for word in words[1:] if not word.startswith("-")])
        feed = "\n".join(before) if before else self.feed
        plain = words[0] in JUDGES
        piped = feed if plain or feed is None else HIDDEN
        self.found.append(self.inquiry.command(words, replace(self.scope), piped))

    def alias(self, words: list[str]) -> None:
        if len(words) > 1:
            target = cmdlet(words[1])
            self.aliases[words[0].lower()] = ALIASES.get(target, target)

    def words(self, node: Any) -> Iterator[str]:
        name = node.child_by_field_name("command_name")
        if name is not None:
            yield self.value(name)
        elements = node.child_by_field_name("command_elements")
        for child in elements.named_children if elements is not None else ():
            if child.type not in {"command_argument_sep", "redirections", "redirection"}:
                yield self.value(child)

    def value(self, node: Any) -> str:
        text = self.text(node).strip()
        if match := re.fullmatch(r"\$(\w+)", text):
            return self.scope.variables.get(match[1].lower(), _variable(match))
        return text if SPLAT.fullmatch(text) else string(DASH.sub("-", text))


def string(text: str) -> str:
    """The value of a literal; `HIDDEN` where it holds an expression."""
    if re.fullmatch(r"'(?:[^']|'')*'", text, re.S):
        return text[1:-1].replace("''", "'")
    inner = text[1:-1] if re.fullmatch(r'"[^"]*"', text, re.S) else text
    inner = re.sub(r"`(.)", r"\1", inner, flags=re.S)
    if re.match(r"[({@]", inner) and inner == text:
        return HIDDEN
    return re.sub(r"\$(\(.*\)|\{.*\}|[\w:]+)", _variable, inner, flags=re.S)


def literal(text: str) -> str:
    """The value of a literal, or of literals that are put together; `HIDDEN` for all else."""
    quoted = r"'(?:[^']|'')*'|\"[^\"$`]*\""
    if re.fullmatch(rf"(?:{quoted})(?:\s*\+\s*(?:{quoted}))*", text, re.S):
        return "".join(string(part) for part in re.findall(quoted, text, re.S))
    return text if re.fullmatch(r"-?[\d.]+|\$(true|false|null)", text, re.I) else HIDDEN


def _head(text: str) -> str:
    """What `$env:NAME` is given; of a list of folders the first, in the way of bash."""
    match = re.match(r"['\"]([^'\";$]*)", text.strip())
    value = match[1] if match else ""
    return re.sub(r"^([A-Za-z]:)?[\\/].*", HIDDEN, value) or HIDDEN


def _variable(match: re.Match[str]) -> str:
    return {
        "$home": "~",
        "$pwd": ".",
        "$profile": "~/profile.ps1",
        "$true": "true",
        "$null": "null",
    }.get(match[0].lower(), HIDDEN)
