"""Whatever a session holds, in whatever order it came: what is sent is valid."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.agent.context import Context
from shipmate.llm.encoding import RequestEncoder
from shipmate.llm.invariants import check_request
from shipmate.llm.model import ModelInfo
from shipmate.protocol import (
    AnyBlock,
    AskUser,
    Attachment,
    ImageDetail,
    Message,
    Summary,
    System,
    ToolCall,
    ToolResult,
    User,
)

TEXT = st.sampled_from(["", " ", "hi", "\ud800", "北京"])
NUMBER = st.integers(0, 6)
PNG = b"\x89PNG\r\n"


def _summary(text: str, first: int, length: int) -> Summary:
    return Summary(text=text, replaces=(first, first + length))


PICTURE = ImageDetail(media_type="image/png", file="f")
BLOCKS: st.SearchStrategy[AnyBlock] = st.one_of(
    st.builds(User, text=TEXT),
    st.builds(System, text=TEXT),
    st.builds(Attachment, kind=st.sampled_from(["image", "text"]), name=TEXT, text=TEXT,
              file=TEXT, media_type=st.just("image/png")),
    st.builds(Message, id=NUMBER.map("m{}".format), text=TEXT, reasoning=TEXT,
              heard=st.integers(0, 9),
              finish=st.sampled_from(["", "length", "cut_call", "bad_call"])),
    st.builds(ToolCall, id=NUMBER.map("c{}".format), message=NUMBER.map("m{}".format),
              name=st.sampled_from(["read_file", "", "a b"]), started=st.booleans()),
    st.builds(ToolResult, call=NUMBER.map("c{}".format), text=TEXT,
              details=st.sampled_from([msgspec.UNSET, PICTURE])),
    st.builds(AskUser, call=NUMBER.map("c{}".format), question=st.just("?"),
              result=st.sampled_from([msgspec.UNSET, "", "yes"])),
    st.builds(_summary, TEXT, st.integers(0, 20), st.integers(0, 8)),
)  # fmt: skip


@given(st.lists(BLOCKS, max_size=25))
@settings(max_examples=400)
def test_any_session_makes_a_valid_request_at_every_step(blocks: list[AnyBlock]) -> None:
    context = Context("p", image=lambda _file: PNG)
    encoder = RequestEncoder(ModelInfo("a/m", vision=True), replay_reasoning="calls")
    kept: list[AnyBlock] = []
    for block in placed(blocks):
        context.add(block)
        kept.append(block)
        body = body_of(encoder, context)
        assert check_request(body, deepseek_thinking=True, alternate=True) == []
    fresh = Context("p", image=lambda _file: PNG)
    for block in kept:
        fresh.add(block)
    again = RequestEncoder(ModelInfo("a/m", vision=True), replay_reasoning="calls")
    assert body_of(again, fresh) == body_of(encoder, context)


def placed(blocks: list[AnyBlock]) -> list[AnyBlock]:
    """Numbered as the store does it: a block sent again keeps its place."""
    places: dict[str, int] = {}
    return [
        msgspec.structs.replace(b, pos=places.setdefault(b.id, len(places) + 1)) for b in blocks
    ]


def body_of(encoder: RequestEncoder, context: Context) -> Any:
    return msgspec.json.decode(encoder.encode(context.messages(), ()))
