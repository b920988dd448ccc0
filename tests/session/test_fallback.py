"""What happens when a model fails: another one stands in, and it is told."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shipmate.agent.profile import Profile
from shipmate.errors import NotFoundError
from shipmate.llm.chain import OUT, Chain, Outages
from shipmate.llm.model import ErrorKind, Model, ModelError, ModelInfo, Reply
from shipmate.llm.retry import RetryingModel
from shipmate.llm.scripted import ScriptedModel, Step, call, say
from shipmate.protocol import Attachment, Message, System
from shipmate.session.assembly import Assembly
from shipmate.session.projects import ProjectSettings
from shipmate.tools.tool import Limits
from tests.play import Stage, stage
from tests.session.team import BY_PROVIDER, ask
from tests.session.trade import done

QUOTA = ModelError("One refused the request (402): no credit.", kind="quota")
PNG = b"\x89PNG\r\n\x1a\n"


def _picture(_file: str) -> bytes:
    return PNG


@dataclass
class Fleet(Stage):
    models: dict[str, ScriptedModel] = field(default_factory=dict[str, ScriptedModel])

    async def told(self, session: str) -> list[str]:
        blocks = await self.blocks(session, System)
        return [b.text for b in blocks if b.code in ("fallback", "no_pictures")]

    async def said(self, session: str) -> list[tuple[str, str]]:
        return [(m.model, m.text) for m in await self.blocks(session, Message)]

    def asked(self) -> dict[str, int]:
        return {name: len(model.requests) for name, model in self.models.items()}


@asynccontextmanager
async def fleet(
    folder: Path, *, blind: bool = False, retrying: bool = False, **scripts: Iterable[Step]
) -> AsyncGenerator[Fleet]:
    """Models `a`, `b`, … of one provider; the session's is `x/a`, and those after it stand in.
    `blind`: only the first sees pictures; `retrying`: each is asked again where that may help."""
    root = folder / "project"
    root.mkdir(exist_ok=True)
    models = {
        f"x/{name}": ScriptedModel(
            steps, info=ModelInfo(f"x/{name}", vision=name == "a" or not blind)
        )
        for name, steps in scripts.items()
    }

    def made(name: str) -> Model:
        if name not in models:
            raise NotFoundError(f"There is no model {name!r}.")
        return RetryingModel(models[name]) if retrying else models[name]

    profiles = {
        name: Profile(
            name,
            "Helps.",
            "You help.",
            ("read_only", "read_write", "agents"),
            "x/a",
            fallback=("x/gone", *list(models)[1:]),
        )
        for name in ("assistant", "explorer")
    }
    assembly = Assembly(
        profiles=lambda: profiles,
        projects=lambda: {"demo": ProjectSettings(path=str(root))},
        models=made,
        tools=BY_PROVIDER,
        limits=Limits,
        data=folder / "data",
    )
    async with stage(folder, (), tools=(), assemble=assembly.assemble, image=_picture) as play:
        yield Fleet(play.executor, models["x/a"], play.store, models)


async def begun(play: Fleet) -> str:
    session = await play.create(bypass=True)
    await play.executor.update(session, title="Its own")
    return session


@pytest.mark.parametrize("kind", OUT)
async def test_the_next_model_goes_on_and_it_is_told(tmp_path: Path, kind: ErrorKind) -> None:
    failure = ModelError("One is down.", kind=kind)
    async with fleet(tmp_path, a=[failure], b=[say("Hello."), say("Still me.")]) as play:
        session = await begun(play)
        assert done(await play.say(session, "hi")).finished
        assert await play.said(session) == [("x/b", "Hello.")]
        assert await play.told(session) == ["One is down. x/b goes on instead."]
        assert done(await play.say(session, "you?")).finished
        assert play.asked() == {"x/a": 1, "x/b": 2}, "it is not asked again at once"
        assert "x/a failed a while ago" in (await play.told(session))[1]


@pytest.mark.parametrize("kind", ["auth", "refused", "provider"])
async def test_what_another_model_would_not_mend_is_shown(tmp_path: Path, kind: ErrorKind) -> None:
    async with fleet(tmp_path, a=[ModelError("No.", kind=kind)], b=[say("Hello.")]) as play:
        session = await begun(play)
        assert done(await play.say(session, "hi")).error == "No."
        assert play.asked() == {"x/a": 1, "x/b": 0}


async def test_a_step_in_which_text_was_shown_is_not_begun_by_another(tmp_path: Path) -> None:
    partial = Reply(text="Well, the", reasoning="Hm.")
    cut = ModelError("It broke off.", kind="truncated", partial=partial)
    async with fleet(tmp_path, a=[cut], b=[say("Hello.")]) as play:
        session = await begun(play)
        assert done(await play.say(session, "hi")).error == "It broke off."
        assert await play.said(session) == [("x/a", "Well, the")]
        assert play.asked() == {"x/a": 1, "x/b": 0}


async def test_thinking_that_was_shown_is_void(tmp_path: Path) -> None:
    cut = ModelError("It broke off.", kind="truncated", partial=Reply(reasoning="Secretly."))
    async with fleet(tmp_path, a=[cut], b=[say("Hello.")]) as play:
        session = await begun(play)
        assert done(await play.say(session, "hi")).finished
        (message,) = await play.blocks(session, Message)
        assert (message.text, message.reasoning) == ("Hello.", "")


async def test_calls_that_were_made_are_not_made_again(tmp_path: Path) -> None:
    steps = [call("put", path="log", content="go\n"), QUOTA]
    async with fleet(tmp_path, a=steps, b=[QUOTA], c=[say("Done.")]) as play:
        session = await begun(play)
        assert done(await play.say(session, "hi")).finished
        assert (tmp_path / "project" / "log").read_text() == "go\n"
        assert [m for m, _ in await play.said(session)] == ["x/a", "x/c"]
        assert [m.role for m in play.models["x/c"].requests[0].messages][-2:] == [
            "assistant",
            "tool",
        ]
        assert len(await play.told(session)) == 2


async def test_the_failure_of_the_last_is_the_end(tmp_path: Path) -> None:
    last = ModelError("Two is down.", kind="overloaded")
    async with fleet(tmp_path, a=[QUOTA], b=[last]) as play:
        session = await begun(play)
        assert done(await play.say(session, "hi")).error == "Two is down."
        assert len(await play.told(session)) == 1


async def test_a_model_that_asks_for_a_long_wait_is_not_waited_for(tmp_path: Path) -> None:
    busy = ModelError("Too many.", kind="rate_limit", retry_after=3_000)
    async with fleet(tmp_path, retrying=True, a=[busy], b=[say("Hello.")]) as play:
        session = await begun(play)
        assert done(await play.say(session, "hi")).finished
        assert await play.told(session) == ["Too many. x/b goes on instead."]


async def test_sub_agents_have_their_own_chain(tmp_path: Path) -> None:
    steps = [ask("explorer", "look"), QUOTA]
    async with fleet(tmp_path, a=steps, b=[say("Found."), say("Done.")]) as play:
        session = await begun(play)
        assert done(await play.say(session, "hi")).finished
        assert sorted(await play.said(session)) == [
            ("x/a", ""),
            ("x/b", "Done."),
            ("x/b", "Found."),
        ]


async def test_pictures_go_to_models_that_see_and_others_are_told(tmp_path: Path) -> None:
    picture = Attachment(kind="image", name="cat.png", media_type="image/png", file="f")
    async with fleet(tmp_path, blind=True, a=[QUOTA], b=[say("A cat?"), say("Yes.")]) as play:
        session = await begun(play)
        assert done(await play.say(session, "who?", attachments=[picture])).finished
        assert done(await play.say(session, "sure?")).finished
        told = await play.told(session)
        assert told[0].endswith("It sees no pictures: they are left out.")
        assert [text for text in told if text.startswith("x/b sees no pictures")] == [
            "x/b sees no pictures: it is told their names only. "
            "Choose a model that sees, or describe them."
        ]


def test_a_model_that_failed_is_tried_again_after_a_while() -> None:
    now = [0.0]
    outages = Outages(clock=lambda: now[0])
    models = {name: ScriptedModel((), info=ModelInfo(name)) for name in ("x/a", "x/b")}

    def chain() -> Chain:
        return Chain(("x/a", "x/b", "x/a"), models.__getitem__, outages)

    first = chain()
    assert first.stand_in(QUOTA)
    assert (first.info.id, first.can_change) == ("x/b", False)
    again = chain()
    assert "failed a while ago" in again.begin()
    assert again.info.id == "x/b"
    now[0] = OUT["quota"] + 1
    again = chain()
    assert (again.begin(), again.info.id) == ("", "x/a")
