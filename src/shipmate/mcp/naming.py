"""Names of tools on the wire: readable, unique, and as every provider accepts them."""

import hashlib
import re

MOST = 64
_SERVER_MOST = 24
_HASH = 6
_BAD = re.compile(r"[^A-Za-z0-9_-]+")


def wire_name(server: str, tool: str) -> str:
    """`server__tool`. Where that says less than the two names (other characters, cut, or another
    pair could give the same) a hash of both follows. It depends on nothing else, so it is the
    same in every request; no built-in tool has `__` in its name, so none can be shadowed."""
    plain = f"{server}__{tool}"
    exact = not _BAD.search(plain) and plain.count("__") == 1 and "___" not in plain
    if exact and len(plain) <= MOST:
        return plain
    digest = hashlib.sha256(f"{server}/{tool}".encode(errors="surrogatepass")).hexdigest()[:_HASH]
    head = _BAD.sub("_", server).strip("_")[:_SERVER_MOST].rstrip("_") or "server"
    room = MOST - len(head) - 2 - 1 - _HASH
    tail = _BAD.sub("_", tool).strip("_")[:room].rstrip("_") or "tool"
    return f"{head}__{tail}_{digest}"
