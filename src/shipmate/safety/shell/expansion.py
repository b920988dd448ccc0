"""The words that bash makes of a node of the syntax tree, as far as they are known."""

import re
from collections.abc import Callable
from typing import Any, Protocol

from shipmate.safety.shell import words as spelling
from shipmate.safety.shell.call import Scope
from shipmate.safety.shell.risk import HIDDEN, SPLIT, Finding, ask, danger

PIPE = "/dev/fd/" + HIDDEN
"""What `<(…)` and `>(…)` become."""
KNOWN = {"HOME": "~", "PWD": ".", "IFS": " \t\n", "SHELL": "/bin/bash", "0": "bash", "BASH": "bash"}
PARAMETER = re.compile(r"\$\{(!?)(\w+|[@*#?$!-])(?:\[[^\]]*\])?(.*)\}", re.S)
PROMPT = danger(
    "prompt-expansion", "A variable's text is expanded as a prompt, which can run code."
)
DEFAULT = ask("default", "A word depends on a variable that may be set.")


class Walker(Protocol):
    """What expansion needs of the walk through a script."""

    scope: Scope
    found: list[Finding]

    def text(self, node: Any) -> str: ...
    def substitution(self, node: Any, feed: str | None = None) -> str: ...


def words(walker: Walker, node: Any) -> list[str]:
    """The words of an unquoted place: split into fields, braces expanded."""
    fields = spelling.fields(value(walker, node, quoted=False))
    if re.search(r"(?<!\$)\{", walker.text(node)):
        return [word for field in fields for word in spelling.braces(field)]
    return fields


def joined(walker: Walker, nodes: list[Any]) -> list[str]:
    """The words of several nodes. Where nothing is between two, bash sees one word."""
    found: list[str] = []
    end = -1
    for node in nodes:
        made = words(walker, node)
        if node.start_byte == end and found and made:
            found[-1] += made.pop(0)
        found += made
        end = node.end_byte
    return found


def value(walker: Walker, node: Any, *, quoted: bool) -> str:
    """The text of a word or a piece of one."""
    if kind := VALUES.get(node.type):
        return kind(walker, node, quoted)
    if not node.children:
        text = walker.text(node)
        return text if quoted else spelling.unescape(text)
    inside(walker, node)
    return HIDDEN


def pieces(walker: Walker, node: Any, quoted: bool) -> str:
    """The children's values, and what stands between them."""
    source = walker.text(node).encode("utf-8", "replace")
    clean = spelling.unescape_quoted if quoted else spelling.unescape
    out, at = list[str](), 0
    for child in node.named_children:
        start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
        out.append(clean(source[at:start].decode("utf-8", "replace")))
        plain = child.type == "string_content"
        out.append(clean(walker.text(child)) if plain else value(walker, child, quoted=quoted))
        at = end
    out.append(clean(source[at:].decode("utf-8", "replace")))
    return "".join(out)


def _string(walker: Walker, node: Any, _quoted: bool) -> str:
    text = pieces(walker, node, quoted=True).removesuffix('"')
    return _not_home(walker, node, text[text.find('"') + 1 :])


def _raw(walker: Walker, node: Any, quoted: bool) -> str:
    text = walker.text(node)
    return text if quoted else _not_home(walker, node, text[1:-1])


def _not_home(walker: Walker, node: Any, text: str) -> str:
    """A quoted `~` at the start of a word is an ordinary character."""
    return "./" + text if walker.text(node)[1:2] == "~" else text


def _ansi(walker: Walker, node: Any, _quoted: bool) -> str:
    return spelling.ansi_c(walker.text(node)[2:-1])


def _text(walker: Walker, node: Any, _quoted: bool) -> str:
    return walker.text(node)


def _command(walker: Walker, node: Any, quoted: bool) -> str:
    return _split(walker, walker.substitution(node), quoted)


def _process(walker: Walker, node: Any, _quoted: bool) -> str:
    walker.substitution(node, HIDDEN if walker.text(node).startswith(">") else None)
    return PIPE


def _split(walker: Walker, text: str, quoted: bool) -> str:
    """Unquoted, a text is split where `IFS` says."""
    marks = walker.scope.variables.get("IFS", " \t\n")
    if quoted or not marks:
        return text
    return HIDDEN if HIDDEN in marks else re.sub(f"[{re.escape(marks)}]+", SPLIT, text)


def _parameter(walker: Walker, node: Any, quoted: bool) -> str:
    raw = walker.text(node)
    if not re.match(r"\$[\w@*#?$!{-]", raw):
        return raw
    if not raw.startswith("${"):
        return _split(walker, lookup(walker.scope, raw[1:]), quoted)
    match = PARAMETER.fullmatch(raw)
    if match is None or match[2] == "#":
        inside(walker, node)
        return HIDDEN
    indirect, name, operation = match.groups()
    name = lookup(walker.scope, name) if indirect else name
    if operation.startswith("@"):
        if operation != "@Q":
            walker.found.append(PROMPT)
        return HIDDEN
    default = _default(walker, node)
    text = _operated(walker, lookup(walker.scope, name), operation, default)
    return _split(walker, text, quoted)


def _default(walker: Walker, node: Any) -> str:
    """The value of what stands after the operator; its substitutions are judged."""
    named = [child for child in node.named_children if child.type not in {"variable_name"}]
    if "subscript" in {child.type for child in named}:
        inside(walker, node)
        return HIDDEN
    return "".join(value(walker, child, quoted=False) for child in named)


def _operated(walker: Walker, current: str, operation: str, default: str) -> str:
    if not operation:
        return current
    if re.match(r":?[-=+]", operation):
        walker.found.append(DEFAULT)
        unknown = HIDDEN in current or "+" in operation[:2]
        return default if unknown else current
    if HIDDEN in current:
        return HIDDEN
    return _cut(current, operation)


def _cut(current: str, operation: str) -> str:
    """A part of a known value, or the value changed."""
    if match := re.fullmatch(r":\s*(\d+)(?::(\d+))?", operation):
        start, length = int(match[1]), match[2]
        return current[start : start + int(length)] if length else current[start:]
    if match := re.fullmatch(r"(//?)([^/*?\[\]$`]+)(?:/([^/$`]*))?", operation):
        return current.replace(match[2], match[3] or "", 1 if match[1] == "/" else -1)
    if match := re.fullmatch(r"(##?|%%?)([^*?\[\]$`]+)", operation):
        cut = current.removeprefix if match[1][0] == "#" else current.removesuffix
        return cut(match[2])
    return {",,": current.lower(), "^^": current.upper()}.get(operation, HIDDEN)


def lookup(scope: Scope, name: str) -> str:
    if name in {"@", "*"}:
        return HIDDEN if scope.positional is None else SPLIT.join(scope.positional)
    if name in scope.variables:
        return scope.variables[name]
    if name.isdigit() and name != "0" and scope.positional is not None:
        return (*scope.positional, *[""] * 10)[int(name) - 1] if int(name) < 10 else HIDDEN
    return KNOWN.get(name, HIDDEN)


def assigned(walker: Walker, node: Any) -> tuple[str, str]:
    """The name and the value that an assignment gives; changed values are not followed."""
    name = walker.text(node.child_by_field_name("name"))
    given = node.child_by_field_name("value")
    if given is None:
        text = ""
    elif given.type == "array":
        text = array(walker, given)
    else:
        text = "".join(words(walker, given))
    old = walker.scope.variables.get(name)
    if any(child.type == "+=" for child in node.children):
        return name, (old or "") + text
    return name, text if old is None or old == text else HIDDEN


def array(walker: Walker, node: Any) -> str:
    """The elements of `(a b)`, as `${x[@]}` gives them."""
    return SPLIT.join(word for child in node.named_children for word in words(walker, child))


def inside(walker: Walker, node: Any) -> None:
    """Judge what is substituted anywhere below `node`."""
    for child in node.named_children:
        if child.type in VALUES:
            value(walker, child, quoted=True)
        else:
            inside(walker, child)


def here_document(walker: Walker, node: Any) -> str:
    """The text of the only here-document below `node`, its expansions made."""
    if node.type == "heredoc_body":
        return pieces(walker, node, quoted=True)
    return "".join(here_document(walker, child) for child in node.named_children)


VALUES: dict[str, Callable[[Walker, Any, bool], str]] = {
    "string": _string,
    "raw_string": _raw,
    "ansi_c_string": _ansi,
    "translated_string": pieces,
    "concatenation": pieces,
    "command_name": pieces,
    "heredoc_content": _text,
    "brace_expression": _text,
    "command_substitution": _command,
    "process_substitution": _process,
    "simple_expansion": _parameter,
    "expansion": _parameter,
}
