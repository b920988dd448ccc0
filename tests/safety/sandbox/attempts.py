"""Attempts to get out of a sandbox, as `attempts.txt` has them.

Each says ESCAPED, in the room, where it got through. `{outside}` is a folder beside the project
with a file `canary` in it, `{data}` the data directory, `{server}` the process that started the
command. Scripts are bash, or Python with `call` for system calls; braces of their own are doubled.
A group whose attempts cannot disturb each other is tried together, in one command.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("attempts.txt")


@dataclass(frozen=True)
class Attempt:
    name: str
    script: str
    python: bool
    alone: bool
    """Landlock and seccomp hold it without bubblewrap, too."""
    hosts: tuple[str, ...]
    """Approved with the network, for these hosts."""
    not_shown: str
    """Why it is not made without a sandbox, as an ordinary user; "" where it is."""
    lenient: bool
    """A setting of the kernel may hold it, without any sandbox."""


def groups() -> Iterator[tuple[bool, list[Attempt]]]:
    """Whether they are tried together, and the attempts."""
    for group in f"\n{FILE.read_text()}".split("\n== ")[1:]:
        title, _, rest = group.partition("\n")
        yield (
            title.endswith(", together"),
            [_attempt(one) for one in f"\n{rest}".split("\n-- ")[1:]],
        )


def _attempt(text: str) -> Attempt:
    title, _, script = text.partition("\n")
    name, *marks = title.split(" | ")
    hosts = tuple(mark.removeprefix("host ") for mark in marks if mark.startswith("host "))
    alone = "needs bubblewrap" not in marks
    not_shown = next((m.removeprefix("not shown: ") for m in marks if m[:9] == "not shown"), "")
    lenient = "where the kernel lets it" in marks
    return Attempt(name, script.strip(), "python" in marks, alone, hosts, not_shown, lenient)
