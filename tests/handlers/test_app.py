"""The composition root: what the first page waits for, which agents there are."""

from pathlib import Path

import pytest

from shipmate.app import make_house, opened, profiles
from shipmate.config import Config
from shipmate.errors import ConfigError, NotFoundError
from shipmate.llm.settings import ModelSettings, ProviderSettings


async def test_the_first_page_waits_only_where_models_have_to_be_looked_for(
    tmp_path: Path,
) -> None:
    config = Config.load(tmp_path, {})
    local = "http://127.0.0.1:1/v1"
    async with opened(config) as parts:
        assert not (await make_house(parts, 1)).settled.is_set()  # the very first start
        config.set("interface.language", "en")
        assert (await make_house(parts, 1)).settled.is_set()
        config.add_provider("own", ProviderSettings(base_url=local))
        assert not (await make_house(parts, 1)).settled.is_set()
        known = ProviderSettings(base_url=local, models=(ModelSettings(id="m"),))
        config.add_provider("own", known)
        assert (await make_house(parts, 1)).settled.is_set()


def test_an_agent_of_the_configuration_takes_the_rest_from_the_built_in_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "reviewer.md").write_text("You review.")
    (tmp_path / "config.toml").write_text(
        '[agents.reviewer]\nprompt_file = "reviewer.md"\nproviders = ["read_only"]\n'
        "[agents.assistant]\nmax_steps = 7\n"
    )
    config = Config.load(tmp_path, {})
    found = profiles(config)
    assert (found["reviewer"].prompt, found["reviewer"].providers) == (
        "You review.",
        ("read_only",),
    )
    assert found["assistant"].max_steps == 7
    assert "shell" in found["assistant"].providers
    (tmp_path / "reviewer.md").unlink()
    with pytest.raises(ConfigError, match=r"reviewer\.md"):
        profiles(config)


async def test_what_is_raised_while_the_system_runs_arrives_as_itself(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="as itself"):
        async with opened(Config.load(tmp_path, {})):
            raise NotFoundError("as itself")
