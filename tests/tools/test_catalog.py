"""The built-in tools: each is documented, with an example that is right."""

import re
from pathlib import Path

import msgspec
import pytest

from shipmate.tools.arguments import parse_arguments
from shipmate.tools.catalog import BUILTIN
from shipmate.tools.tool import Tool

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")
TOOLS = [tool for tools in BUILTIN.values() for tool in tools]
each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def test_names_are_unique_and_each_tool_names_its_provider() -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)
    assert all(tool.provider == name for name, tools in BUILTIN.items() for tool in tools)


@each_tool
def test_the_page_names_each_parameter(tool: Tool) -> None:
    (row,) = re.findall(rf"^\| `{tool.name}` \|(.*?)\|", PAGE, re.MULTILINE)
    for name in tool.parameters["properties"]:
        assert f"`{name}`" in row
    for name in tool.parameters.get("required", ()):
        assert f"`{name}`*" in row


@each_tool
def test_the_example_on_the_page_is_the_tool_s_and_fits(tool: Tool) -> None:
    assert f"\n{tool.name} {tool.example}\n" in PAGE
    assert parse_arguments(tool, msgspec.json.decode(tool.example))


@each_tool
def test_each_tool_says_what_it_does_in_few_words(tool: Tool) -> None:
    assert 40 < len(tool.description) < 1_000
