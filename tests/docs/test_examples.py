"""Every example of the documentation is run, or says why it is not."""

import importlib
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from shipmate.cli.serve import Started
from shipmate.config import Config
from shipmate.github.client import GitHub
from shipmate.github.remote import Repositories
from shipmate.github.tools import GitHubTools
from shipmate.handlers.dispatch import Dispatch
from shipmate.handlers.files import STATIC
from shipmate.safety.sandbox.room import SandboxSettings
from shipmate.session.searching import SearchAnswer
from shipmate.tools.arguments import parse_arguments
from shipmate.tools.catalog import BUILTIN
from shipmate.tools.tool import Tool, Workspace
from tests.docs import words
from tests.docs.pages import EXAMPLES, LANGUAGES, PAGES, ROOT, SPANS, Example, blocks, of
from tests.docs.shell import Reader
from tests.docs.words import there
from tests.tools.use import judged, used


def each(language: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("example", of(language), ids=str)


def test_a_runner_claims_each_block_or_the_page_says_why_not() -> None:
    unclaimed = [str(e) for e in EXAMPLES if e.language not in LANGUAGES and not e.reason]
    assert unclaimed == []


def test_no_language_is_without_an_example() -> None:
    assert all(of(language) for language in LANGUAGES)


def test_a_block_that_is_not_closed_is_noticed() -> None:
    with pytest.raises(AssertionError, match="line 2 is not closed"):
        blocks("```sh\nls\n", "page.md")
    [marked] = blocks("<!-- not run: a drawing -->\n\n```text\nx\n```\n", "page.md")
    assert (marked.reason, marked.text) == ("a drawing", "x\n")
    assert blocks("<!-- not run: -->\n```sh\nls\n```\n", "page.md")[0].reason == ""


@each("sh")
def test_the_commands_do_what_they_say(example: Example, someone: Reader) -> None:
    done = someone.run(example)
    complaints = [line for line in done.stdout.split("\n") if line.startswith("BAD ")]
    expected = 0 if (STATIC / "index.html").is_file() or "doctor" not in example.text else 1
    assert done.returncode == expected, f"{example}\n{done.stdout}\n{done.stderr}"
    assert len(complaints) == expected, complaints  # of the page, where it is not built
    assert "Traceback" not in done.stderr


def test_the_first_program_carries_the_demo_past_its_approval(someone: Reader) -> None:
    [example] = [e for e in of("sh") if e.page == "docs/api.md"]
    done = someone.run(example)
    assert '"reason":"waiting_approval"' in done.stdout, done.stderr
    assert done.stdout.rstrip().endswith("}")
    assert '"reason":"waiting_answer"' in done.stdout
    assert (someone.home / "src/my-mod/shipmate-demo.md").exists()


def test_check_answers_with_the_fields_that_are_named(someone: Reader) -> None:
    [example] = [e for e in of("sh") if "check request" in e.text]
    said = someone.run(example).stdout.strip().split("\n")
    shell, path, url, request, config = map(json.loads, said)
    assert shell["verdict"] == "dangerous"
    assert {"verdict", "rule", "reason"} <= set(shell)
    assert path["verdict"] == "ask_danger"
    assert {"verdict", "reason", "relative"} <= set(path)
    assert url["verdict"] == "refuse"
    assert {"verdict", "reason", "rule", "requested"} <= set(url)
    assert request == {"ok": True, "broken": []}
    assert (config["ok"], config["problems"]) == (True, [])


@each("toml")
def test_a_configuration_is_accepted_and_nothing_in_it_is_unknown(
    example: Example, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(example.text)
    settings = Config.load(tmp_path, {}).settings
    given = tomllib.loads(example.text)
    assert _holds(msgspec.to_builtins(settings), given), example


def _holds(read: Any, given: Any) -> bool:
    """Whether all that was given is in what was read."""
    if isinstance(given, dict):
        pairs: dict[str, Any] = given  # pyright: ignore[reportUnknownVariableType]
        return all(key in read and _holds(read[key], value) for key, value in pairs.items())
    if isinstance(given, list):
        items: list[Any] = given  # pyright: ignore[reportUnknownVariableType]
        return len(read) == len(items) and all(map(_holds, read, items))
    return bool(read == given)


@each("markdown")
def test_an_agent_in_a_file_is_read_and_has_the_tools_it_names(
    example: Example, tmp_path: Path
) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/writer.md").write_text(example.text)
    agent = Config.load(tmp_path, {}).agents["writer"]
    assert agent.prompt.startswith("You ")
    assert agent.description
    assert set(agent.providers) <= set(BUILTIN)


@each("json")
def test_an_answer_is_what_the_program_answers(example: Example, someone: Reader) -> None:
    shown = json.loads(example.text)
    if "token_url" in shown:
        assert set(shown) == {"url", "token_url", "port", "pid"}
        assert msgspec.convert(shown, Started).token_url.startswith(f"{shown['url']}/#token=")
        return
    if "hits" in shown:
        [hit] = msgspec.convert(shown, SearchAnswer).hits
        assert [hit.snippet.text[a:b] for a, b in hit.snippet.marks] == ["login", "loop"]
        return
    if "instruction" in shown:
        assert msgspec.convert(shown, Dispatch).number == 412
        return
    body = {"project": "my-mood", "provider": "scripted/demo", "task": "hi"}
    bearer = {"Authorization": f"Bearer {someone.server.token}"}
    status, _, content = someone.server.request("POST", "/api/agent/chat/stream", body, **bearer)
    assert status == 404
    answer = json.loads(content)
    assert answer["detail"].startswith("There is no project 'my-mood'. Known projects: ")
    assert "my-mod" in answer["detail"]
    assert (set(answer), answer["code"]) == (set(shown), shown["code"])


@each("tool")
def test_a_call_fits_the_tool_it_names(example: Example) -> None:
    known = (*BUILTIN.values(), GITHUB)
    tools = {tool.name: tool for group in known for tool in group}
    for line in example.text.strip().split("\n"):
        name, _, arguments = line.partition(" ")
        assert parse_arguments(tools[name], json.loads(arguments)), line


GITHUB = GitHubTools(Repositories(cast("GitHub", None), (), SandboxSettings)).all()
"""What is offered does not depend on the repository."""
HEAD = """
import asyncio

from shipmate.safety.verdict import Verdict
from shipmate.tools.files import read_bytes
from shipmate.tools.read_verdict import judge_read
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, tool

"""
"""What a module of a tool provider imports; a recipe leaves it out."""


@each("python")
async def test_a_recipe_makes_a_tool_that_runs(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "recipe"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "tools.py").write_text(HEAD + example.text)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    made = vars(importlib.import_module("recipe.tools"))
    monkeypatch.delitem(sys.modules, "recipe.tools")
    [tool] = [value for value in made.values() if isinstance(value, Tool)]
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("1\n2\n")
    (root / ".env").write_text("KEY=1\n")
    work = Workspace(root.resolve(), files=tmp_path / "files")
    assert parse_arguments(tool, json.loads(tool.example))
    assert tool.parameters["required"] == ["path"]
    assert (await used(work, tool, path="a.py")).text == "a.py has 2 lines"
    assert (await judged(work, tool, path=".env")).level.name == "ASK"
    assert (await judged(work, tool, path="../outside")).level.name == "REFUSE"


def test_each_command_within_a_sentence_is_one_that_there_is() -> None:
    found = [(page, span, words.problem(span)) for page, span in SPANS if _command(span)]
    assert len(found) > 30
    assert [(page, span, wrong) for page, span, wrong in found if wrong] == []


def _command(span: str) -> bool:
    return span.startswith(("./dev", "shipmate ", ".venv/bin/"))


@pytest.mark.parametrize(
    "line",
    ["shipmate serve --prot 1", "shipmate chek", "./dev deploy", ".venv/bin/pytest tests/none.py"],
)
def test_a_command_that_is_not_there_is_noticed(line: str) -> None:
    assert words.problem(line)


def test_what_is_shown_of_the_pages_is_what_git_holds() -> None:
    """A page that was written and not added would not be read by anybody else."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no clone, or there is no git")
    held = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert {str(page.relative_to(ROOT)) for page in PAGES} <= set(held)


def test_each_file_and_module_within_a_sentence_is_there() -> None:
    named = [(page, span, there(span)) for page, span in SPANS if there(span) is not None]
    assert len(named) > 40
    assert [(page, span) for page, span, found in named if not found] == []
    assert (there("src/none.py"), there("llm.invariants"), there("llm.none")) == (
        False,
        True,
        False,
    )
