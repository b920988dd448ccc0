"""Answers read as they are, and however the network cuts them."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from shipmate.llm.accumulator import Accumulator
from shipmate.llm.answer import AnswerReader
from shipmate.llm.model import ModelError, Reply

Reader: TypeAlias = Callable[[str], AnswerReader]


def read(pieces: Iterable[bytes], kind: Reader = Accumulator) -> tuple[Reply, ModelError | None]:
    """The reply (or what came of it) and the failure, checked against the parts."""
    reader = kind("Acme")
    parts = [part for piece in pieces if (part := reader.feed(piece))]
    try:
        reply, failure = reader.finish(), None
    except ModelError as error:
        reply, failure = error.partial or Reply(), error
    text, reasoning = "".join(p.text for p in parts), "".join(p.reasoning for p in parts)
    assert reply.text.startswith(text)
    assert reply.reasoning.startswith(reasoning)
    return reply, failure


def cuts(data: bytes) -> Iterable[list[bytes]]:
    """`data` whole, in single bytes, and cut once at every position."""
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    for at in range(1, len(data)):
        yield [data[:at], data[at:]]


def same_at_every_cut(data: bytes, kind: Reader = Accumulator) -> tuple[Reply, ModelError | None]:
    reply, failure = read([data], kind)
    for pieces in cuts(data):
        again, error = read(pieces, kind)
        assert again == reply
        assert str(error) == str(failure)
    return reply, failure


def end_of(reply: Reply, failure: ModelError | None) -> str:
    """The end in the words of the cases."""
    if failure is not None:
        return "truncated" if failure.kind == "truncated" else "error"
    return {"cut_call": "truncated", "length": "truncated"}.get(reply.finish, reply.finish)
