"""How each engine finds words: FTS5 of SQLite, `tsquery` of PostgreSQL."""

from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias

from shipmate.database.query import Term

Field: TypeAlias = Literal["said", "named"]
"""What was said, or how sessions are called."""
LONGEST = 500
"""Characters of a word; PostgreSQL refuses words of more than 2 kB."""


class Finder(Protocol):
    source: str
    """`search f`, `indexed i` and `sessions s`, joined so that the newest are found first."""

    def condition(self, field: Field) -> str:
        """A row has what stands for the `?` in it."""
        ...

    def expression(self, field: Field, terms: Iterable[Term]) -> str:
        """All terms, in the words of the engine. Every word is quoted: none is an operator."""
        ...


class Fts5:
    # CROSS JOIN: in this order, so that the search can end with the newest
    source = (
        "search f CROSS JOIN indexed i ON i.id = f.rowid CROSS JOIN sessions s ON s.id = i.session"
    )

    def condition(self, field: Field) -> str:
        return "search MATCH ?"

    def expression(self, field: Field, terms: Iterable[Term]) -> str:
        columns = "{title}" if field == "named" else "{parts wholes}"
        return f"{columns} : ({' AND '.join(map(self._term, terms))})"

    def _term(self, term: Term) -> str:
        star = " *" if term.prefix else ""
        phrase = " + ".join(f'"{part}"' for part in term.parts) + star
        return f'({phrase} OR "{term.whole}"{star})' if term.whole else f"({phrase})"


class TsQuery:
    source = "search f JOIN indexed i ON i.id = f.rowid JOIN sessions s ON s.id = i.session"

    def condition(self, field: Field) -> str:
        return f"f.{field} @@ ?::tsquery"

    def expression(self, field: Field, terms: Iterable[Term]) -> str:
        return " & ".join(map(self._term, terms))

    def _term(self, term: Term) -> str:
        star = ":*" if term.prefix else ""
        phrase = " <-> ".join(map(_quoted, term.parts)) + star
        return f"(({phrase}) | {_quoted(term.whole)}{star})" if term.whole else f"({phrase})"


def _quoted(word: str) -> str:
    """A word of `tsquery`, cut as `words_vector` cuts what is kept."""
    return "'" + word[:LONGEST].replace("\\", "\\\\").replace("'", "''") + "'"
