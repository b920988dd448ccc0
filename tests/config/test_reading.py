"""Reading `config.toml`: what is right is taken, each mistake is named with its place."""

from pathlib import Path

import pytest

from shipmate.config import Config
from shipmate.config.settings import Settings
from shipmate.errors import ConfigError

WHOLE = """
[server]
port = 9000
public_url = "https://ship.example.org"

[providers.deepseek]
type = "deepseek"
base_url = "https://api.deepseek.com"
api_key = { env = "DEEPSEEK_API_KEY" }
thinking_enabled = true
reasoning_effort = "high"

[[providers.deepseek.models]]
id = "deepseek-chat"
context_length = 128000
vision = false
tool_mode = "native"
tool_listing = "full"
price = { input = 0.27, cached = 0.07, output = 1.10 }

[projects.my-mod]
name = "My Mod"
path = "~/src/my-mod"

[agents.assistant]
description = "helps"
max_steps = 20

[interface]
send_key = "enter"
language = "zh-CN"

[limits]
reads_per_round = 5
compact_at = 0.5
"""


def load(folder: Path, text: str) -> Config:
    (folder / "config.toml").write_bytes(text.encode())
    return Config.load(folder, {})


def test_an_empty_directory_gives_the_defaults(tmp_path: Path) -> None:
    assert Config.load(tmp_path).settings == Settings()


def test_every_section_is_read(tmp_path: Path) -> None:
    settings = load(tmp_path, WHOLE).settings
    provider = settings.providers["deepseek"]
    assert provider.api_key is not None
    assert provider.api_key.env == "DEEPSEEK_API_KEY"
    assert provider.models[0].price is not None
    assert provider.models[0].price.as_mapping() == {"input": 0.27, "cached": 0.07, "output": 1.10}
    assert settings.server.port == 9000
    assert settings.projects["my-mod"].path == "~/src/my-mod"
    assert settings.agents["assistant"].max_steps == 20
    assert settings.interface.send_key == "enter"
    assert settings.limits.for_tools().reads_per_round == 5


@pytest.mark.parametrize("text", ["\ufeff[server]\nport = 9\n", "[server]\r\nport = 9\r\n"])
def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text).settings.server.port == 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[server]\nprot = 1", "[server] prot: unknown setting; did you mean port?"),
        ("[servr]\nport = 1", "[servr]: unknown section; did you mean server?"),
        ("[mpc.servers.x]\n", "[mpc]: unknown section"),
        ("[mcp.servers.x]\n", "[mcp.servers] x: command is missing"),
        ('[server]\nport = "1"', "[server] port: expected `int`, got `str`"),
        ("[server]\nport = 70000", "[server] port: expected `int` <= 65535"),
        ("server = 1", "server: expected a table"),
        ('[server]\npublic_url = "x"', "must begin with https:// or http://"),
        ('[interface]\nsend_key = "tab"', "must be one of shift+enter, enter, ctrl+enter"),
        ('[providers.a]\napi_key = "sk-1"', "[providers.a] api_key: expected a reference"),
        ('[providers.a]\napi_key = {env="A", secret="b"}', "expected a reference"),
        ('[providers.a]\ntype = "depseek"', "unknown type 'depseek'; did you mean deepseek?"),
        ('[providers.a]\nbase_url = "localhost:1"', "base_url must be like https://host/v1"),
        ('[providers.a]\nbase_url = "http://u:p@h/v1"', "base_url must hold no key"),
        ("[[providers.a.models]]\nvison = true", "[providers.a.models.1] vison: unknown setting"),
        ("[[providers.a.models]]\n", "[providers.a.models.1] id: missing"),
        ('[[providers.a.models]]\nid="m"\n[[providers.a.models]]\nid="m"', "m is there twice"),
        ("[projects.x]\n", "[projects.x] path: missing"),
        ("[limits]\ncompact_at = 2", "[limits] compact_at: expected `float` <= 0.95"),
        ('[agents.a]\nprompt = "x"\nprompt_file = "y"', "not both"),
        ("[server\n", "not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert expected in str(caught.value)
    assert "config.toml" in str(caught.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "[server]\nprot = 1\nhost = 2\n[nothing]\n")
    assert len(str(caught.value).split("\n")) == 3


def test_a_key_written_into_an_address_is_not_repeated_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, '[providers.a]\nbase_url = "ftp://h/v1?key=sk-canary"')
    assert "sk-canary" not in str(caught.value)


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"[server]\nhost = '\xe9'\n")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 17"):
        Config.load(tmp_path)
