"""Agents as Markdown files: what is right is taken, each mistake is named with file and line."""

from pathlib import Path

import pytest

from shipmate.app import profiles
from shipmate.config import Config
from shipmate.config.settings import AgentSettings
from shipmate.errors import ConfigError

WRITER = """---
# what it is for
description: "Looks after: the docs" # quoted
providers: [read_only, 'ask']
model: openai/gpt-4o # the small one
max_steps: 30
fallback: [deepseek/deepseek-chat, "a/b"]
---

You look after the docs.

---
Be brief.
"""


def load(data: Path, **files: str) -> Config:
    folder = data / "agents"
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.md").write_bytes(text.encode())
    return Config.load(data, {})


def test_a_file_is_an_agent(tmp_path: Path) -> None:
    config = load(tmp_path, writer=WRITER)
    assert config.agents == {
        "writer": AgentSettings(
            description="Looks after: the docs",
            prompt="You look after the docs.\n\n---\nBe brief.",
            providers=("read_only", "ask"),
            model="openai/gpt-4o",
            max_steps=30,
            fallback=("deepseek/deepseek-chat", "a/b"),
        )
    }
    found = profiles(config)
    assert list(found) == ["assistant", "explorer", "reviewer", "planner", "writer"]
    assert found["writer"].prompt.endswith("Be brief.")


def test_items_may_stand_below_their_key_and_lines_may_end_as_on_windows(tmp_path: Path) -> None:
    text = "---\r\nproviders:\r\n  - read_only\r\n  - todo\r\n---\r\nPrompt.\r\n"
    agent = load(tmp_path, own=text).agents["own"]
    assert (agent.providers, agent.prompt) == (("read_only", "todo"), "Prompt.")


def test_without_settings_in_front_all_of_it_is_the_prompt(tmp_path: Path) -> None:
    assert load(tmp_path, own="Be kind.\n").agents["own"].prompt == "Be kind."


def test_a_file_with_the_name_of_a_built_in_agent_takes_its_place(tmp_path: Path) -> None:
    found = profiles(load(tmp_path, explorer="---\nmax_steps: 5\n---\nLook."))
    explorer = found["explorer"]
    assert (explorer.prompt, explorer.max_steps, explorer.providers) == ("Look.", 5, ("read_only",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nmax_steps: many\n---\nx", "agents/own.md:2: max_steps: expected `int`"),
        ("---\n\nmax_step: 3\n---\nx", "agents/own.md:3: max_step: unknown setting; did you mean"),
        ("---\ndescription: a\njust words\n---\nx", "agents/own.md:3: expected `key: value`"),
        ("---\nmodel: a/b\nmodel: c/d\n---\nx", "agents/own.md:3: model stands here twice"),
        ("---\nmodel: a/b\n", "agents/own.md:1: there is no second line with ---"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"agents/own\.md") as error:
        load(tmp_path, own=text)
    assert said in str(error.value)


def test_every_mistake_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(tmp_path, one="---\na: 1\nb: 2\n---\n", two="---\n", **{"no name": "x"})
    told = str(error.value).split("\n")
    assert [line.partition(": ")[0] for line in told] == [
        "agents/no name.md",
        "agents/one.md:2",
        "agents/one.md:3",
        "agents/two.md:1",
    ]


def test_one_name_stands_in_one_place(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[agents.own]\nmax_steps = 3\n")
    with pytest.raises(ConfigError, match=r"config.toml has \[agents.own\], too"):
        load(tmp_path, own="x")
