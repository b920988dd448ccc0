"""A bash script walked in the order it runs, down to its simple commands."""

import re
from collections.abc import Callable
from typing import Any

from shipmate.safety.shell import environment, expansion, flow, grammar, redirection
from shipmate.safety.shell.call import Inquiry, Scope
from shipmate.safety.shell.crude import crude_commands
from shipmate.safety.shell.prepare import Prepared, prepare
from shipmate.safety.shell.risk import HERE, HIDDEN, SPLIT, Finding, ask, block, worst

MAX_DEPTH = 8
UNPARSED = ask("syntax", "The command cannot be parsed as bash.")
LOOP = ask("loop", "The command is a loop.")
UNKNOWN = ask("unknown-syntax", "The command uses syntax that is not understood.")


def judge_bash(inquiry: Inquiry, text: str, scope: Scope, feed: str | None = None) -> Finding:
    """The worst of what `text` does when bash runs it."""
    prepared = prepare(text)
    source = prepared.text.encode("utf-8", "replace")
    root = grammar.bash().parse(source).root_node
    script = Script(inquiry, source, prepared, scope, feed)
    if root.has_error:
        script.found.append(UNPARSED)
        for words in crude_commands(prepared.text):
            script.found.append(inquiry.command(words, scope.copy(), feed))
    script.walk(root)
    script.finish()
    return worst(script.found)


class Script:
    """The walk through one script; `found` collects what was noticed."""

    def __init__(
        self, inquiry: Inquiry, source: bytes, prepared: Prepared, scope: Scope, feed: str | None
    ) -> None:
        self.inquiry = inquiry
        self.source = source
        self.prepared = prepared
        self.scope = scope
        self.feed = feed
        self.found: list[Finding] = []
        self.defined: dict[str, Any] = {}
        self.called: set[str] = set()
        self.ran: dict[int, tuple[list[str], str | None]] = {}

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def walk(self, node: Any) -> None:
        if not node.is_missing and self.text(node):
            WALKS.get(node.type, Script.unknown)(self, node)

    def finish(self) -> None:
        """Functions that were never called are judged as well."""
        for name in self.defined.keys() - self.called:
            self.walk(self.defined[name])

    def unknown(self, node: Any) -> None:
        self.found.append(UNKNOWN)
        self.parts(node)

    def parts(self, node: Any) -> None:
        for child in node.named_children:
            self.walk(child)

    def nothing(self, node: Any) -> None:
        """A comment, or a piece that its parent has read."""

    def words(self, node: Any) -> list[str]:
        return expansion.words(self, node)

    def looked_at(self, node: Any) -> None:
        """A word that runs nothing itself: only what it substitutes is judged."""
        self.words(node)

    def subshell(self, node: Any) -> None:
        """What changes in a subshell (folder, variables) does not come back."""
        kept, self.scope = self.scope, self.scope.copy()
        self.parts(node)
        self.scope = kept

    def substitution(self, node: Any, feed: str | None = None) -> str:
        """Judge `$(…)`; gives its output where that is plain, else `HIDDEN`."""
        if re.search(r"\\[`\\$]", self.text(node)) and self.text(node).startswith("`"):
            self.found.append(self.backquoted(self.text(node)[1:-1]))
            return HIDDEN
        kept, self.scope, kept_feed = self.scope, self.scope.copy(), self.feed
        self.feed = feed
        self.parts(node)
        self.scope, self.feed = kept, kept_feed
        inner = node.named_children
        if len(inner) != 1 or inner[0].type != "command":
            return HIDDEN
        words, given = self.ran.get(inner[0].start_byte, ([], None))
        return flow.output(words, given, substituted=True).rstrip("\n")

    def document(self, body: str) -> str:
        """The text of an unquoted here-document, its expansions made."""
        source = f"cat <<{HERE}\n{body}{HERE}\n".encode("utf-8", "replace")
        inner = Script(self.inquiry, source, Prepared(), self.scope.copy(), None)
        text = expansion.here_document(inner, grammar.bash().parse(source).root_node)
        self.found += inner.found
        return text

    def backquoted(self, text: str) -> Finding:
        """Within backticks a backslash hides further backticks."""
        plain = re.sub(r"\\([`\\$])", r"\1", text)
        return self.inquiry.script(plain, "bash", self.scope.copy(), None)

    # --- commands ---

    def split(self, node: Any) -> tuple[list[str], list[Any]]:
        """The words of a command, and its redirections. Its assignments take effect."""
        texts: list[Any] = []
        redirects: list[Any] = []
        for child in node.named_children:
            if child.type.endswith("_redirect"):
                redirects.append(child)
            elif child.type == "variable_assignment":
                self.assign(child)
            elif child.type != "comment":
                texts.append(child)
        return expansion.joined(self, texts), redirects

    def command(self, node: Any) -> None:
        self.run(node, [])

    def run(self, node: Any, redirects: list[Any]) -> None:
        before = dict(self.scope.variables)
        words, own = self.split(node)
        redirects = sorted([*own, *redirects], key=redirection.writes)
        words += [word for each in redirects for word in redirection.swallowed(self, each)]
        kept, feed = self.feed, self.feed
        for each in redirects:
            feed = redirection.judge(self, each, words, feed)
        self.feed = feed
        self.ran[node.start_byte] = (words, feed)
        self.call([word.replace(SPLIT, " ") for word in words])
        for name in self.prefixes(node):
            self.scope.variables.pop(name, None)
            self.scope.variables |= {name: before[name]} if name in before else {}
        flow.after(words or [""], self.scope)
        self.feed = kept

    def prefixes(self, node: Any) -> list[str]:
        """Names that are assigned for one command only."""
        given = [c for c in node.named_children if c.type == "variable_assignment"]
        return [self.text(each.child_by_field_name("name")) for each in given]

    def call(self, words: list[str]) -> None:
        name = words[0] if words else HIDDEN
        body = self.scope.functions.get(name)
        if body is None:
            self.found.append(self.inquiry.command(words, self.scope, self.feed))
        elif name in self.scope.calling or len(self.scope.calling) > MAX_DEPTH:
            self.found.append(ask("recursion", f"The function {name} calls itself."))
        else:
            self.called.add(name)
            positional, calling = self.scope.positional, self.scope.calling
            self.scope.positional, self.scope.calling = tuple(words[1:]), (*calling, name)
            self.found.append(judge_bash(self.inquiry, body, self.scope, self.feed))
            self.scope.positional, self.scope.calling = positional, calling

    def redirected(self, node: Any) -> None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if child.type.endswith("_redirect")]
        if body is not None and body.type == "command":
            return self.run(body, redirects)
        kept, feed = self.feed, self.feed
        for each in redirects:
            feed = redirection.judge(self, each, [], feed)
            extra = redirection.swallowed(self, each)
            self.found += [self.inquiry.command(extra, self.scope, feed)] if extra else []
        self.feed = feed
        for child in node.named_children:
            if child not in redirects:
                self.walk(child)
        self.feed = kept
        return None

    def pipeline(self, node: Any) -> None:
        """Each stage reads what the one before it writes."""
        kept, feed = self.feed, self.feed
        stages = [child for child in node.named_children if child.type != "comment"]
        seen: list[list[str]] = []
        for stage in stages:
            scope, self.scope = self.scope, self.scope.copy()
            self.feed = feed
            self.walk(stage)
            words, given = self.shape(stage)
            self.found.extend(flow.leaks(seen, words))
            seen.append(words)
            feed = flow.output(words, given) if words else HIDDEN
            self.scope = scope
        self.feed = kept

    def shape(self, stage: Any) -> tuple[list[str], str | None]:
        """The words of a stage that was one simple command, and its input."""
        command = stage.child_by_field_name("body") if "redirected" in stage.type else stage
        if command is None or command.type != "command":
            return [], None
        return self.ran.get(command.start_byte, ([], None))

    # --- variables ---

    def assign(self, node: Any) -> None:
        name, text = expansion.assigned(self, node)
        self.found.append(environment.assignment(name, text))
        self.scope.variables[name] = text

    def declaration(self, node: Any) -> None:
        words = [self.text(node.children[0])]
        for child in node.named_children:
            if child.type == "variable_assignment":
                self.assign(child)
                words.append(self.text(child))
            else:
                words.extend(self.words(child))
        self.found.append(self.inquiry.command(words, self.scope, self.feed))

    # --- control ---

    def loop(self, node: Any) -> None:
        """`for x in words`: once for each of the first words, their value known."""
        name = self.text(node.child_by_field_name("variable"))
        values = [word for v in node.children_by_field_name("value") for word in self.words(v)]
        body = node.child_by_field_name("body")
        known = values if 0 < len(values) <= MAX_DEPTH else [HIDDEN]
        for value in known:
            self.scope.variables[name] = value
            if body is not None:
                self.walk(body)
        self.scope.variables[name] = HIDDEN
        self.found.append(LOOP)

    def repeat(self, node: Any) -> None:
        self.found.append(LOOP)
        self.parts(node)

    def define(self, node: Any) -> None:
        name = self.text(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        if body is None:
            return
        self.defined[name] = body
        inside = self.scope.functions[name] = self.text(body)
        own = rf"(?<![\w:.-]){re.escape(name)}(?![\w:.-])"
        if re.search(rf"{own}[^;\n]*[|&](?!&)[^;\n]*", inside) and self.calls(body, name):
            self.found.append(block("fork-bomb", "A function that starts itself without end."))
        self.found.append(ask("function", "The command defines a function."))

    def calls(self, node: Any, name: str) -> bool:
        if node.type == "command_name" and self.text(node) == name:
            return True
        return any(self.calls(child, name) for child in node.named_children)

    def test(self, node: Any) -> None:
        """`[ … ]` and `[[ … ]]`: only what is substituted in them runs."""
        self.found.extend(flow.arithmetic(self.text(node)))
        expansion.inside(self, node)


WALKS: dict[str, Callable[[Script, Any], None]] = {
    **dict.fromkeys(
        ("program", "list", "compound_statement", "do_group", "if_statement", "elif_clause",
         "else_clause", "negated_command", "case_statement", "case_item",
         "variable_assignments", "ERROR"),
        Script.parts,
    ),
    **dict.fromkeys(
        ("word", "string", "raw_string", "ansi_c_string", "concatenation", "number", "expansion",
         "simple_expansion", "command_substitution", "process_substitution", "translated_string",
         "arithmetic_expansion", "brace_expression", "extglob_pattern"),
        Script.looked_at,
    ),
    **dict.fromkeys(("comment", "variable_name", "heredoc_body"), Script.nothing),
    "command": Script.command,
    "subshell": Script.subshell,
    "redirected_statement": Script.redirected,
    "pipeline": Script.pipeline,
    "variable_assignment": Script.assign,
    "declaration_command": Script.declaration,
    "unset_command": Script.declaration,
    "for_statement": Script.loop,
    "while_statement": Script.repeat,
    "function_definition": Script.define,
    "test_command": Script.test,
}  # fmt: skip
