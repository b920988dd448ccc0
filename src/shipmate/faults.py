"""Named places at which a test can have the process killed."""

import os
import signal

KILL_AT = "SHIPMATE_KILL_AT"
"""The environment variable: a name of `POINTS`, with `:n` at the n-th time it is passed."""

POINTS = frozenset(
    """
    chat.created
    send.recorded send.advanced
    decide.recorded
    record.before_commit record.committed record.before_publish record.after_publish
    round.begin round.played round.closed round.cut
    stream.begun stream.said stream.ended stream.kept stream.before_flush stream.flushed
    keep.before_record keep.recorded
    partial.before_record partial.recorded
    look.before_record look.recorded
    call.judged call.before_act call.acted call.asked call.before_start call.started
    result.before_record result.recorded
    command.running
    write.before_rename write.renamed
    stop.cut resume.recorded dismiss.recorded
    agent.begun agent.ended
    compact.begun compact.asked compact.recorded
    queue.changed queue.next queue.said
    title.asked title.before_record title.recorded
    delete.begun delete.rows_gone
    restore.kept restore.log_gone restore.replaced
    migration.begun migration.done
    recover.begun recover.text_kept recover.row_kept
    shutdown.begun shutdown.rounds_cut
    """.split()
)
"""Each is passed in one place; `tests/faults` kills at all of them (at those of `restore`, which no
server passes, `tests/database`)."""

_name, _, _times = os.environ.get(KILL_AT, "").partition(":")
_left = [int(_times or 1)]
if _name and _name not in POINTS:
    raise SystemExit(f"{KILL_AT} names {_name!r}, which is no point of shipmate.faults.")


def point(name: str) -> None:
    """Nothing, unless it is named by the environment: then the process is gone, as with a cut
    of power, without any clean-up."""
    if name == _name:
        _left[0] -= 1
        if _left[0] == 0:
            _die()


def _die() -> None:
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    while True:  # nothing may happen until the signal has arrived
        signal.pause()
