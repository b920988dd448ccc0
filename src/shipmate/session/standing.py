"""What the user has decided ahead in a session: its bypass, and the rules in force there."""

from collections.abc import Sequence

from shipmate.agent.standing import Standing
from shipmate.protocol import SessionRow
from shipmate.safety.rules.rule import Rule
from shipmate.session.door import Door


def standing(door: Door, session: SessionRow) -> Standing:
    async def rules() -> Sequence[Rule]:
        known = await door.store.rules()
        return [rule for rule in known if rule.holds(session.id, session.project)]

    return Standing(lambda: door.row(session.id).bypass_approval, rules)
