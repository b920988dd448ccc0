"""Keys are found by reference, and do not go where they are not needed."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from shipmate.errors import ConfigError
from shipmate.safety.secrets import SecretRef, Secrets, is_secret_name, scrubbed_environment


def test_a_key_comes_from_the_environment_or_the_file(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path / "secrets.json", {"MY_KEY": "sk-env\n"})
    assert secrets.resolve(SecretRef(env="MY_KEY")) == "sk-env"
    ref = secrets.store("mine", "sk-file")
    assert Secrets(tmp_path / "secrets.json", {}).resolve(ref) == "sk-file"
    secrets.forget("mine")
    assert "enter the key again" in secrets.missing(ref)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path / "secrets.json", {})
    assert "env:GONE is not there" in secrets.missing(SecretRef(env="GONE"))
    assert secrets.missing(None) == ""


@pytest.mark.parametrize("value", ["sk-1\nX-Evil: 1", "sk-ключ"])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(
    tmp_path: Path, value: str
) -> None:
    reason = Secrets(tmp_path / "s", {"K": value}).missing(SecretRef(env="K"))
    assert "copy it again" in reason
    assert value not in reason


def test_a_damaged_file_is_told_without_its_content(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    file.write_text('{"a": "sk-canary"')
    reason = Secrets(file, {}).missing(SecretRef(secret="a"))
    assert "cannot be read" in reason
    assert "sk-canary" not in reason
    with pytest.raises(ConfigError):
        Secrets(file, {}).store("b", "sk-2")
    assert "sk-canary" in file.read_text()


def test_a_reference_names_exactly_one_place() -> None:
    for fields in ({}, {"env": "A", "keyring": "b"}):
        with pytest.raises(ValueError, match="expected a reference"):
            SecretRef(**fields)


def test_nothing_shows_a_value(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path / "s", {"MY_KEY": "sk-canary"})
    assert "sk-canary" not in repr(secrets) + str(secrets) + repr(SecretRef(env="MY_KEY"))


def test_children_do_not_see_secrets() -> None:
    hidden = ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "NPM_AUTH"]
    shown = ["PATH", "HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "MONKEY"]
    environ = dict.fromkeys(hidden + shown, "x")
    assert sorted(scrubbed_environment(environ)) == sorted(shown)
    assert all(map(is_secret_name, hidden))


WITH_KEYRING = importlib.util.find_spec("keyring") is not None


@pytest.mark.skipif(WITH_KEYRING, reason="keyring is there")
def test_the_command_that_adds_the_keyring_is_told(tmp_path: Path) -> None:
    reason = Secrets(tmp_path / "s", {}).missing(SecretRef(keyring="work"))
    assert "pip install 'shipmate[keyring]'" in reason


@pytest.mark.skipif(not WITH_KEYRING, reason="needs the extra keyring")
def test_a_key_comes_from_the_systems_keyring(tmp_path: Path) -> None:
    keyring: Any = importlib.import_module("keyring")
    backend: Any = importlib.import_module("keyring.backend")

    class Memory(backend.KeyringBackend):
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return {("shipmate", "work"): "sk-ring"}.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            raise NotImplementedError

        def delete_password(self, service: str, username: str) -> None:
            raise NotImplementedError

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        secrets = Secrets(tmp_path / "s", {})
        assert secrets.resolve(SecretRef(keyring="work")) == "sk-ring"
        assert "keyring set shipmate gone" in secrets.missing(SecretRef(keyring="gone"))
    finally:
        keyring.set_keyring(before)
