"""What to do when the server says 429: wait as long as it asks for, a few times."""

TRIES = 4
LONGEST_S = 10


def wait_before(attempt: int, status: int, asked: str | None) -> int:
    """Seconds before the same is asked again; 0: do not. `attempt` counts from 1, `asked` is the
    header `Retry-After`."""
    if status != 429 or attempt >= TRIES or not asked or not asked.isdecimal():
        return 0
    return int(asked) if 0 < int(asked) <= LONGEST_S else 0
