"""A server whose sessions talk to a model provider for tests."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from shipmate.agent.profile import Profile
from shipmate.llm.providers import Providers
from shipmate.llm.settings import ModelSettings, ProviderSettings
from shipmate.safety.secrets import Secrets
from shipmate.session.assembly import Assembly
from shipmate.session.projects import ProjectSettings
from shipmate.tools.tool import Limits
from tests.play import Stage, stage
from tests.provider import Provider
from tests.session.team import ALL, BY_PROVIDER

DEEPSEEK = "deepseek/deepseek-v4-pro"


@asynccontextmanager
async def ship(
    folder: Path, sea: Provider, *, model: str = DEEPSEEK, window: int = 100_000, **others: str
) -> AsyncGenerator[Stage]:
    """A server whose sessions think with `model`; `others`: base URLs of more providers."""
    kind, _, name = model.partition("/")
    settings = {
        kind: ProviderSettings(
            type=kind,
            base_url=sea.url,
            thinking_enabled=True,
            models=(ModelSettings(id=name, context_length=window, thinking=True),),
        ),
        **{name: ProviderSettings(base_url=url) for name, url in others.items()},
    }
    house = Providers(lambda: settings, Secrets(folder / "s", {}), folder / "models")
    root = folder / "project"
    root.mkdir(exist_ok=True)
    (root / "a.txt").write_text("hello")
    profiles = {
        name: Profile(name, f"The {name}.", f"You are the {name}.", ALL)
        for name in ("assistant", "explorer")
    }
    assembly = Assembly(
        profiles=lambda: profiles,
        projects=lambda: {"demo": ProjectSettings(path=str(root))},
        models=house.model,
        tools=BY_PROVIDER,
        limits=Limits,
        data=folder / "data",
    )
    try:
        async with stage(folder, (), tools=(), assemble=assembly.assemble) as play:
            yield play
    finally:
        await house.close()


async def begun(play: Stage, model: str = DEEPSEEK) -> str:
    row = await play.executor.create(agent="assistant", provider=model, project="demo")
    await play.executor.update(row.id, title="Its own")  # else the model is asked for one
    return row.id
