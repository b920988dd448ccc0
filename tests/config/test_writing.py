"""Changing settings: comments stay, a bad value changes nothing, the file is whole or old."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shipmate.config import Config, document
from shipmate.errors import ConfigError, NotFoundError
from shipmate.llm.settings import ModelSettings, Price, ProviderSettings
from shipmate.safety.secrets import SecretRef

WRITTEN = """# mine
[server]   # where
port = 9000 # nine

[providers.b]
base_url = "http://x/v1"  # there
[projects.a]
path = "/tmp"

[providers.c] # out of order
models = [{id="x"}]
[[providers.d.models]]
id = "q"
"""


def config_with(folder: Path, text: str = WRITTEN) -> Config:
    (folder / "config.toml").write_bytes(text.encode())
    return Config.load(folder, {})


def on_disk(config: Config) -> dict[str, Any]:
    return tomllib.loads(config.file.read_text())


def test_a_setting_is_changed_in_place_and_comments_stay(tmp_path: Path) -> None:
    config = config_with(tmp_path)
    config.set("server.port", 1234)
    assert config.file.read_text() == WRITTEN.replace("9000", "1234")
    assert config.settings.server.port == 1234
    assert Config.load(tmp_path).settings == config.settings


def test_a_new_section_is_added_behind_what_is_there(tmp_path: Path) -> None:
    config = config_with(tmp_path)
    config.set("interface.language", "en")
    assert config.file.read_text().startswith(WRITTEN)
    assert on_disk(config)["interface"] == {"language": "en"}


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    config = config_with(tmp_path, "[server]\r\nport = 1 # one\r\n")
    config.set("server.port", 2)
    assert config.file.read_bytes() == b"[server]\r\nport = 2 # one\r\n"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("server.port", "high"),
        ("server.prot", 1),
        ("nothing.at.all", 1),
        ("server.port.deeper", 1),
        ("interface", {"send_key": "tab"}),
        ("", 1),
        (("providers", "b", "api_key"), "sk-1"),
    ],
)
def test_a_bad_value_is_refused_and_nothing_changes(
    tmp_path: Path, path: str | tuple[str, ...], value: object
) -> None:
    config = config_with(tmp_path)
    before = config.settings
    with pytest.raises(ConfigError):
        config.set(path, value)
    assert config.file.read_text() == WRITTEN
    assert config.settings is before


def test_what_was_changed_by_hand_meanwhile_is_kept(tmp_path: Path) -> None:
    config = config_with(tmp_path)
    config.file.write_text(WRITTEN.replace("9000", "9001"))
    config.set("interface.language", "en")
    assert config.settings.server.port == 9001


def test_a_file_that_cannot_be_written_is_told_and_nothing_changes(tmp_path: Path) -> None:
    config = config_with(tmp_path)
    config.file.unlink()
    config.file.symlink_to("/proc/shipmate-nowhere/config.toml")
    with pytest.raises(ConfigError, match="could not be written"):
        config.set("server.port", 1)
    assert config.settings.server.port == 9000


def test_the_files_are_for_their_owner_only(tmp_path: Path) -> None:
    config = Config.load(tmp_path)
    config.add_provider("a", ProviderSettings(), key="sk-canary")
    assert {f.name: f.stat().st_mode & 0o777 for f in tmp_path.iterdir()} == {
        "config.toml": 0o600,
        "secrets.json": 0o600,
    }


def test_a_linked_file_is_changed_where_it_is(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("[server]\nport = 1\n")
    data = tmp_path / "data"
    data.mkdir()
    (data / "config.toml").symlink_to(real)
    Config.load(data).set("server.port", 2)
    assert (data / "config.toml").is_symlink()
    assert real.read_text() == "[server]\nport = 2\n"


def test_a_provider_is_written_without_its_key(tmp_path: Path) -> None:
    config = config_with(tmp_path)
    model = ModelSettings(id="m/1", price=Price(input=1.5))
    config.add_provider("e.f", ProviderSettings(type="deepseek", models=(model,)), key=" sk-x\n")
    provider = config.settings.providers["e.f"]
    assert provider.models == (model,)
    assert provider.api_key == (ref := SecretRef(secret="e.f"))
    assert config.secrets.resolve(ref) == "sk-x"
    assert "sk-x" not in config.file.read_text()
    config.remove_provider("e.f")
    assert config.secrets.missing(ref)
    with pytest.raises(NotFoundError):
        config.remove_provider("e.f")


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b"])
def test_a_provider_needs_a_name_without_a_slash(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        Config.load(tmp_path).add_provider(name, ProviderSettings())


def test_a_project_is_added_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    project = tmp_path / "My Mod"
    other = tmp_path / "other" / "My Mod"
    for folder in (data, project, other):
        folder.mkdir(parents=True)
    config = Config.load(data)
    assert config.add_project(project) == "my-mod"
    assert config.add_project(str(project) + "/") == "my-mod"
    assert config.add_project(other, "模组") == "project"
    assert config.add_project(tmp_path, "my mod") == "my-mod-2"
    assert config.settings.projects["project"].name == "模组"
    config.remove_project("my-mod")
    assert set(Config.load(data).settings.projects) == {"project", "my-mod-2"}
    assert project.is_dir()


def test_a_folder_that_cannot_be_a_project_is_refused(tmp_path: Path) -> None:
    config = Config.load(tmp_path)
    (tmp_path / "file").write_text("")
    for path in ("relative", tmp_path / "gone", tmp_path / "file", "/", tmp_path):
        with pytest.raises(ConfigError):
            config.add_project(path)
    assert not config.file.exists()


def test_tables_in_a_mixed_order_that_tomlkit_cannot_edit_are_written_anew(tmp_path: Path) -> None:
    config = config_with(tmp_path)
    config.add_provider("a", ProviderSettings(models=(ModelSettings(id="m"),)))
    config.add_provider("a", ProviderSettings(title="A"))
    assert on_disk(config)["providers"]["a"] == {"title": "A"}
    assert "port = 9000 # nine" in config.file.read_text()


names = st.sampled_from(["a", "b.c", "d-1", "e"])
edits = st.one_of(
    st.tuples(st.just(("server", "port")), st.one_of(st.none(), st.integers(0, 65535))),
    st.tuples(st.tuples(st.just("providers"), names), st.none()),
    st.tuples(
        st.tuples(st.just("providers"), names, st.just("title")), st.one_of(st.none(), st.text())
    ),
    st.tuples(
        st.tuples(st.just("providers"), names),
        st.builds(
            ProviderSettings,
            title=st.text(max_size=5),
            api_key=st.one_of(st.none(), st.just(SecretRef(env="K"))),
            models=st.lists(
                st.builds(
                    ModelSettings,
                    id=st.text(min_size=1, max_size=5),
                    price=st.one_of(st.none(), st.just(Price(input=1.5))),
                ),
                max_size=2,
                unique_by=lambda m: m.id,
            ).map(tuple),
        ),
    ),
    st.tuples(
        st.tuples(st.just("projects"), names, st.just("path")), st.sampled_from(["/x", "~/y"])
    ),
)


@given(st.lists(edits, min_size=1, max_size=6))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_edits_is_written_as_meant(
    tmp_path: Path, steps: list[tuple[tuple[str, ...], Any]]
) -> None:
    config = config_with(tmp_path)
    for path, value in steps:
        meant = document.with_value(on_disk(config), path, document.plain(value))
        config.set(path, value)
        assert on_disk(config) == meant
    assert config.file.read_text().startswith("# mine\n")
    assert msgspec.to_builtins(Config.load(tmp_path).settings) == msgspec.to_builtins(
        config.settings
    )


def test_the_only_provider_can_be_removed_and_set_up_again(tmp_path: Path) -> None:
    config = config_with(tmp_path, "")
    config.add_provider("ollama", ProviderSettings(type="ollama"))
    config.remove_provider("ollama")
    assert not on_disk(config).get("providers")
    assert not Config.load(tmp_path).settings.providers
    config.add_provider("ollama", ProviderSettings(type="ollama"))
    assert list(Config.load(tmp_path).settings.providers) == ["ollama"]
