"""Rows of older versions, as they are read today (readings 6). Nothing of it is written."""

from msgspec import structs

from shipmate.llm.tokens import estimate_tokens
from shipmate.protocol import Message, decode_kept, encode


def patched(kind: str, body: bytes) -> bytes:
    """The JSON of a block; a message that nobody counted has tokens, marked as an estimate."""
    if kind != "message" or b'"tokens":' in body:
        return body
    block = decode_kept(body)
    if not isinstance(block, Message) or not (block.text or block.reasoning):
        return body
    tokens = estimate_tokens(block.text + block.reasoning)
    return encode(structs.replace(block, tokens=tokens, tokens_source="estimate"))
