"""The first start sets up what it finds, and never touches a file that is there."""

from pathlib import Path

from shipmate.config import Config
from shipmate.config.first_run import set_up_found
from shipmate.safety.secrets import SecretRef

ENVIRON = {"DEEPSEEK_API_KEY": "sk-canary", "PATH": "/bin"}


async def test_keys_found_at_the_first_start_are_set_up_as_references(tmp_path: Path) -> None:
    config = Config.load(tmp_path, ENVIRON)
    assert "deepseek" in [one.id for one in await set_up_found(config, ENVIRON)]
    provider = Config.load(tmp_path, ENVIRON).settings.providers["deepseek"]
    assert provider.api_key == SecretRef(env="DEEPSEEK_API_KEY")
    assert "sk-canary" not in "".join(f.read_text() for f in tmp_path.iterdir())


async def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("")
    config = Config.load(tmp_path, ENVIRON)
    assert await set_up_found(config, ENVIRON) == []
    assert config.file.read_text() == ""
    assert not config.settings.providers


async def test_without_anything_found_no_file_is_made(tmp_path: Path) -> None:
    config = Config.load(tmp_path, {})
    if not await set_up_found(config, {}):  # a model server may run on the tester's machine
        assert list(tmp_path.iterdir()) == []
