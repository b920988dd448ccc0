"""The user's rules as rows: the statements a transaction is made of."""

from collections.abc import Callable, Iterable
from typing import Any

from shipmate.database.connection import Connection
from shipmate.database.rows import now
from shipmate.errors import NotFoundError
from shipmate.safety.rules.rule import Rule

_COLUMNS = "id, effect, text, scope, project, COALESCE(session, ''), enabled, created_at, approval"

_INSERT = f"""
INSERT INTO rules (id, effect, text, scope, project, session, enabled, created_at, approval)
VALUES (?, ?, ?, ?, ?, NULLIF(?, ''), ?, ?, ?)
ON CONFLICT (effect, text, scope, project, COALESCE(session, '')) DO UPDATE SET enabled = 1
RETURNING {_COLUMNS}
"""  # noqa: S608 - fixed names


def read_rules(db: Connection) -> tuple[Rule, ...]:
    """All of them, the oldest first."""
    query = f"SELECT {_COLUMNS} FROM rules ORDER BY created_at, id"  # noqa: S608 - fixed names
    return tuple(_rule(*row) for row in db.execute(query))


def insert_rules(db: Connection, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Keep rules, those as well that were there already: these are in force again."""
    return tuple(_insert(db, rule) for rule in rules)


def _insert(db: Connection, rule: Rule) -> Rule:
    values = (
        *(rule.id, rule.effect, rule.text, rule.scope, rule.project, rule.session),
        *(rule.enabled, rule.created_at or now(), rule.approval),
    )
    return _rule(*db.execute(_INSERT, values).fetchone())


def change_rule(db: Connection, rule: str, revise: Callable[[Rule], Rule]) -> Rule:
    """Revise a rule. One that becomes the same as another takes its place."""
    query = f"SELECT {_COLUMNS} FROM rules WHERE id = ?"  # noqa: S608 - fixed names
    found = db.execute(query, (rule,)).fetchone()
    if found is None:
        raise unknown(rule)
    revised = revise(_rule(*found))
    db.execute(
        "DELETE FROM rules WHERE id = ? OR (effect, text, scope, project, COALESCE(session, '')) "
        "= (?, ?, ?, ?, ?)",
        (rule, revised.effect, revised.text, revised.scope, revised.project, revised.session),
    )
    return _insert(db, revised)


def unknown(rule: str) -> NotFoundError:
    return NotFoundError(f"There is no rule {rule!r}; it may have been removed.")


def delete_rule(db: Connection, rule: str) -> None:
    if not db.execute("DELETE FROM rules WHERE id = ?", (rule,)).rowcount:
        raise unknown(rule)


def _rule(*columns: Any) -> Rule:
    fields: dict[str, Any] = dict(zip(Rule.__struct_fields__, columns, strict=True))
    fields["enabled"] = bool(fields["enabled"])
    return Rule(**fields)
