"""Whatever a session holds, wherever it is cut: what is sent after a compaction is valid."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.agent.compaction import find_cut
from shipmate.agent.context import Context
from shipmate.agent.facts import facts
from shipmate.llm.encoding import RequestEncoder
from shipmate.llm.invariants import check_request
from shipmate.llm.model import ModelInfo
from shipmate.protocol import AnyBlock, Summary, ToolCall, ToolResult, User
from tests.agent.test_context_random import BLOCKS, PNG, body_of, placed

TASK = "the first task, word for word"


@given(
    st.lists(BLOCKS, max_size=20),
    st.lists(st.tuples(st.integers(0, 60), st.booleans()), min_size=1, max_size=3),
    st.lists(BLOCKS, max_size=8),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_a_compaction_at_any_unit_leaves_a_valid_request(
    blocks: list[AnyBlock],
    cuts: list[tuple[int, bool]],
    later: list[AnyBlock],
    undo: bool,
) -> None:
    context = Context("p", image=lambda _file: PNG)
    encoder = RequestEncoder(ModelInfo("a/m", vision=True), replay_reasoning="calls")
    placed_all = placed([User(id="task", text=TASK), *blocks])
    history = [block for block in placed_all if not _hides_task(block)]
    for block in history:
        context.add(block)
    at = len(history) + 10
    for keep, hard in cuts:
        open_before = open_calls(context)
        cut = find_cut(context, keep, all_but_last=hard)
        if cut is None:
            continue
        at += 1
        known = facts(context.blocks, cut.replaces)
        made = Summary(id=f"s{at}", pos=at, text="s", facts=known, replaces=cut.replaces)
        context.add(made)
        check(encoder, context)
        assert any(TASK in message.text for message in context.messages())
        assert open_calls(context) == open_before
    places = {block.id: block.pos for block in history}
    for block in later:
        at += 1
        context.add(msgspec.structs.replace(block, pos=places.setdefault(block.id, at)))
        check(encoder, context)
    if undo:
        for summary in [b for b in context.blocks if isinstance(b, Summary)]:
            context.add(msgspec.structs.replace(summary, undone=True))
            check(encoder, context)


def _hides_task(block: AnyBlock) -> bool:
    """No compaction makes such a summary."""
    return isinstance(block, Summary) and block.replaces[0] <= 1


def open_calls(context: Context) -> set[str]:
    """Calls in what is sent whose result is not there yet."""
    answered = {b.call for b in context.blocks if isinstance(b, ToolResult)}
    made = {b.id for b in context.blocks if isinstance(b, ToolCall)} - answered
    return made & {call.id for m in context.messages() for call in m.calls}


def check(encoder: RequestEncoder, context: Context) -> None:
    body = body_of(encoder, context)
    assert check_request(body, deepseek_thinking=True, alternate=True) == []
