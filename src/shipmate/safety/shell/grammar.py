"""The two grammars. Imported on first use: many a server judges no command for a while."""

from functools import cache
from typing import Any


@cache
def bash() -> Any:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


@cache
def powershell() -> Any:
    import tree_sitter_powershell
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_powershell.language()))
