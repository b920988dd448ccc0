from shipmate.protocol import Delta, StreamEnd, StreamStart, User
from shipmate.session import hub as hubs
from shipmate.session.hub import Hub, frame, joined
from shipmate.session.live import LiveMessage, length


def delta(offset: int, text: str = "", reasoning: str = "", id: str = "m") -> Delta:
    return Delta(session="s", id=id, offset=offset, text=text, reasoning=reasoning)


def test_pieces_that_wait_are_joined_and_nothing_else() -> None:
    frames = [
        frame(delta(0, "a")),
        frame(delta(1, "b")),
        frame(delta(0, reasoning="r")),
        frame(delta(2, "c")),
        frame(StreamEnd(session="s", id="m")),
        frame(delta(0, "x", id="n")),
        frame(delta(1, "y", id="n")),
    ]
    texts = [
        (f.type, f.delta and (f.delta.offset, f.delta.text, f.delta.reasoning))
        for f in joined(frames)
    ]
    assert texts == [
        ("delta", (0, "ab", "")),
        ("delta", (0, "", "r")),
        ("delta", (2, "c", "")),
        ("stream_end", None),
        ("delta", (0, "xy", "")),
    ]


def test_a_reader_that_is_far_behind_is_told_to_take_a_snapshot() -> None:
    hub = Hub()
    with hub.watch(["s"]) as slow:
        piece = frame(User(session="s", text="x" * 10_000))
        for _ in range(hubs.MAX_WAITING_BYTES // 10_000 + 1):
            hub.publish(piece)
        assert slow.lost
        assert slow.take() == []
        slow.found()
        hub.publish(piece)
        assert [f.type for f in slow.take()] == ["user"]


def test_only_watchers_of_the_session_are_reached() -> None:
    hub = Hub()
    with hub.watch(["a"]) as one, hub.watch(["b", hubs.ROWS]) as other:
        hub.publish(frame(User(session="a", text="hi")))
        assert (len(one.take()), len(other.take())) == (1, 0)
        hub.publish_row(frame(User(session="b", text="hi")))
        assert (len(one.take()), len(other.take())) == (0, 1)


def test_offsets_count_as_a_browser_does() -> None:
    live = LiveMessage(StreamStart(session="s", id="m"))
    first = live.add("ab🌤", "")
    second = live.add("c", "hm")
    assert [d.offset for d in first + second] == [0, 0, 4]
    assert length("北京") == 2
    assert [getattr(e, "text", "") for e in live.so_far()] == ["", "", "ab🌤c"]
