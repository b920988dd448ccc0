"""Arguments as models write them: tolerant of spelling, never of meaning."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.tools.arguments import parse_arguments, parse_raw
from shipmate.tools.catalog import BUILTIN
from shipmate.tools.tool import ToolContext, ToolError, tool


class Part(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    path: str
    start_line: int = 1
    end_line: int | None = None


@tool(provider="test", example='{"files": [{"path": "a.py"}]}')
async def read_several(
    _ctx: ToolContext, files: list[Part], deep: bool = False, share: float = 0.5
) -> str:
    return ""


@tool(provider="test")
async def write_one(
    _ctx: ToolContext, path: str, content: str, mode: Literal["a", "b"] = "a"
) -> str:
    return ""


@tool(provider="test")
async def find(
    _ctx: ToolContext, query: str, start_line: int = 1, limit_to: int | None = None
) -> str:
    return ""


def test_what_fits_is_taken_as_it_is() -> None:
    values = parse_arguments(read_several, {"files": [{"path": "a", "startLine": 2}], "share": 1})
    assert values == {"files": [Part("a", 2)], "deep": False, "share": 1.0}


@pytest.mark.parametrize("key", ["path", "filePath", "file_path", "FilePath", "file", "file-path"])
def test_the_names_models_use_for_a_path_are_understood(key: str) -> None:
    assert parse_arguments(write_one, {key: "a", "content": ""})["path"] == "a"
    assert parse_arguments(read_several, {"files": [{key: "a"}]})["files"] == [Part("a")]


@pytest.mark.parametrize(
    "given",
    [
        {"query": "x", "startLine": 3},
        {"pattern": "x", "start_line": 3},
        {"search": "x", "offset": 3},
        {"query": "x", "offset": "3"},
        {"query": "x", "startLine": 3.0},
        {"query": "x", "startLine": "3.0"},
        {"query": "x", "startLine": 3, "start_line": 3},
        {"query": "x", "startLine": 3, "limitTo": None},
    ],
)
def test_other_spellings_and_numbers_as_text_mean_the_same(given: dict[str, Any]) -> None:
    assert parse_arguments(find, given) == {"query": "x", "start_line": 3, "limit_to": None}


@pytest.mark.parametrize("mode", ["in-progress", "in_progress", "inProgress", "IN PROGRESS"])
def test_a_word_of_a_list_may_be_spelled_another_way(mode: str) -> None:
    @tool(provider="test")
    async def change(_ctx: ToolContext, mode: Literal["done", "in-progress"]) -> str:
        return ""

    assert parse_arguments(change, {"mode": mode}) == {"mode": "in-progress"}


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("create_directory", {"dirPath": "a"}, {"path": "a"}),
        ("shell_exec", {"cmd": "ls", "timeout": 5}, {"command": "ls", "timeoutSeconds": 5}),
        ("shell_exec", {"id": "bg1"}, {"backgroundId": "bg1"}),
        (
            "replace_string_in_file",
            {"file_path": "a", "old_str": "x", "new_string": "y", "replace_all": True},
            {"path": "a", "oldString": "x", "newString": "y", "replaceAll": True},
        ),
    ],
)
def test_the_names_models_use_are_understood_by_our_own_tools(
    tool: str, given: dict[str, Any], meant: dict[str, Any]
) -> None:
    found = next(one for tools in BUILTIN.values() for one in tools if one.name == tool)
    assert parse_arguments(found, given) == parse_arguments(found, meant)


def test_null_for_an_optional_parameter_means_its_default() -> None:
    values = parse_arguments(find, {"query": "x", "startLine": None})
    assert values["start_line"] == 1


@pytest.mark.parametrize(
    "files",
    [
        '[{"path": "a", "startLine": 2, "endLine": 3}]',
        '[{"filePath": "a", "start_line": "2", "endLine": 3.0}]',
        ['{"path": "a", "startLine": 2, "endLine": 3}'],
    ],
)
def test_values_quoted_once_too_often_are_read(files: Any) -> None:
    values = parse_arguments(read_several, {"files": files, "deep": "True", "share": "0.25"})
    assert values == {"files": [Part("a", 2, 3)], "deep": True, "share": 0.25}


@pytest.mark.parametrize("content", ["[1,2]", '{"a": 1}', "true", "12", '"quoted"', "null"])
def test_a_string_is_never_parsed_even_beside_what_is(content: str) -> None:
    given = {"file_path": "a.json", "content": content}
    assert parse_arguments(write_one, given)["content"] == content
    beside = {"query": content, "startLine": "2"}
    assert parse_arguments(find, beside) == {"query": content, "start_line": 2, "limit_to": None}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "`path` is missing"),
        ({"path": "a", "content": None}, "`content`: expected `str`, got `null`"),
        ({"path": "a", "content": 5}, "`content`: expected `str`, got `int`"),
        ({"path": "a", "content": {"a": 1}}, "`content`: expected `str`, got `object`"),
        ({"path": ["a"], "content": ""}, "`path`: expected `str`, got `array`"),
        ({"path": "a", "content": "", "mode": "z"}, "`mode`: invalid enum value"),
        ({"path": "a", "content": "", "moda": "b"}, "did you mean `mode`?"),
        ({"path": "a", "filePath": "b", "content": ""}, "`filePath` is not a parameter"),
    ],
)
def test_what_does_not_fit_names_the_field_and_shows_a_call(
    given: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(ToolError) as caught:
        parse_arguments(write_one, given)
    assert said in str(caught.value)
    assert 'Example: write_one {"path":"...","content":"..."}' in str(caught.value)
    assert "path (string, required)" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"files": [{"path": "a"}, {}]}, "`files[1].path` is missing"),
        ({"files": "a.py"}, "`files`: expected `array`, got `str`"),
        ({"files": '[{"path": 5}]'}, "`files[0].path`: expected `str`, got `int`"),
        ({"files": [{"path": "a", "startLine": "2x"}]}, "`files[0].startLine`: expected `int`"),
        ({"files": [{"path": "a", "startLine": 2.5}]}, "expected `int`, got `float`"),
        ({"files": [], "deep": "yes"}, "`deep`: expected `bool`, got `str`"),
    ],
)
def test_the_place_inside_a_list_is_named(given: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_arguments(read_several, given)
    assert said in str(caught.value)
    assert 'Example: read_several {"files": [{"path": "a.py"}]}' in str(caught.value)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ToolError, match="half a surrogate pair"):
        parse_arguments(write_one, {"path": "a", "content": "\ud83d"})


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("", {}),
        (" \n", {}),
        ("{}", {}),
        ('```json\n{"path": "a"}\n```', {"path": "a"}),
        ('```\n{"path": "a"}\n```\n', {"path": "a"}),
    ],
)
def test_empty_text_and_code_fences_are_read(raw: str, read: dict[str, Any]) -> None:
    assert parse_raw(write_one, raw) == read


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "a",}',
        "{'path': 'a'}",
        '{"path": NaN}',
        '{"path": "a\nb"}',
        '"{\\"path\\": \\"a\\"}"',
        '{"path": "a"',
        '{"path": "a"}{"path": "b"}',
        "[1]",
        "null",
        "path=a",
        "{path: 'a'}",
        '{"path": "\ud83d"}',
    ],
)
def test_malformed_arguments_are_an_error_and_never_a_guess(raw: str) -> None:
    with pytest.raises(ToolError, match=r"not a JSON object .* Example: write_one"):
        parse_raw(write_one, raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(["files", "deep", "share", "path", "filePath", "start_line", "x"])


def outcome(parse: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any] | str:
    """The arguments, or what the model is told."""
    try:
        return parse(*given)
    except ToolError as error:
        return str(error)


@settings(max_examples=300)
@given(st.dictionaries(NAMES, JSON | st.just([{"path": "a"}]) | st.just('[{"file": "a"}]')))
def test_whatever_a_model_writes_gives_values_of_the_right_types_or_an_error(
    written: dict[str, Any],
) -> None:
    values = outcome(parse_arguments, read_several, written)
    if isinstance(values, str):
        assert "Example: read_several" in values
    else:
        assert set(values) == {"files", "deep", "share"}
        assert all(isinstance(part, Part) for part in values["files"])
        assert isinstance(values["deep"], bool)
        assert isinstance(values["share"], float)


@settings(max_examples=200)
@given(st.text(st.characters(), max_size=60))
def test_whatever_stands_in_place_of_an_object_is_an_object_or_an_error(raw: str) -> None:
    read = outcome(parse_raw, write_one, raw)
    assert isinstance(read, dict) or "not a JSON object" in read


def test_arguments_that_fit_cost_a_few_microseconds() -> None:
    given = {"path": "a", "content": "x" * 1_000}
    best = 1.0
    for _ in range(50):
        start = time.perf_counter()
        parse_arguments(write_one, given)
        best = min(best, time.perf_counter() - start)
    assert best < 0.000_5
