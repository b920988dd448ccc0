"""Agents as Markdown files: settings in front, the prompt below."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from shipmate.config import document
from shipmate.config.check import checked
from shipmate.config.settings import AgentSettings
from shipmate.errors import ConfigError, did_you_mean

FOLDER = "agents"
"""In the data directory."""
KEYS = ("description", "providers", "model", "max_steps", "fallback")
LISTS = ("providers", "fallback")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_FENCE = "---"
_PAIR = re.compile(r"(\w+)\s*:\s*(.*)")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|(?P<comment>(?:^|(?<=\s))#.*)|.")


def read_agents(data: Path, taken: Mapping[str, AgentSettings]) -> dict[str, AgentSettings]:
    """The agents in `<data>/agents/*.md`, by the name of the file. A `ConfigError` has a line
    for each mistake, with file and line; a name that `config.toml` has, too, is one."""
    found: dict[str, AgentSettings] = {}
    problems: list[str] = []
    for file in sorted((data / FOLDER).glob("*.md")):
        place = f"{FOLDER}/{file.name}"
        try:
            check_name(file.stem, place, taken)
            found[file.stem] = parse_agent(document.read(file), place)
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return found


def agent_text(settings: AgentSettings, place: str) -> str:
    """The file that `parse_agent` reads as these settings."""
    front = [f"description: {_quote(settings.description)}"] if settings.description else []
    if settings.providers:
        front.append(f"providers: [{', '.join(settings.providers)}]")
    if settings.model:
        front.append(f"model: {_quote(settings.model)}")
    if settings.fallback:
        front.append(f"fallback: [{', '.join(settings.fallback)}]")
    front.append(f"max_steps: {settings.max_steps}")
    text = "\n".join([_FENCE, *front, _FENCE, "", settings.prompt.strip(), ""])
    if parse_agent(text, place) != msgspec.structs.replace(
        settings, prompt=settings.prompt.strip()
    ):
        raise ConfigError(f"{place}: write the description on one line, with one kind of quotes")
    return text


def _quote(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'


def check_name(name: str, place: str, taken: Mapping[str, AgentSettings]) -> None:
    if not NAME.fullmatch(name):
        raise ConfigError(f"{place}: a name has letters, digits, - and _ only, 40 at most")
    if name in taken:
        raise ConfigError(f"{place}: config.toml has [agents.{name}], too; keep one of them")


def parse_agent(text: str, place: str) -> AgentSettings:
    """One file: `---`, lines of `key: value`, `---`, the prompt; without the first `---` all of
    it is the prompt."""
    lines = text.replace("\r\n", "\n").split("\n")
    front: list[str] = []
    if lines[0].rstrip() == _FENCE:
        ends = [n for n, line in enumerate(lines) if n and line.rstrip() == _FENCE]
        if not ends:
            raise ConfigError(f"{place}:1: there is no second line with --- below this one")
        front, lines = lines[1 : ends[0]], lines[ends[0] + 1 :]
    values = _Front(place).read(front)
    return checked({**values, "prompt": "\n".join(lines).strip()}, AgentSettings, place)


class _Front:
    """Reads the lines of one front matter: plain values, `[a, b]`, or items below their key."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self.problems: list[str] = []
        self.last = ""

    def read(self, lines: list[str]) -> dict[str, Any]:
        for number, line in enumerate(lines, 2):
            bare = "".join(t[0] for t in _TOKEN.finditer(line) if not t["comment"]).strip()
            if bare:
                self._line(bare, number)
        for key, value in self.values.items():
            try:
                checked({key: value}, AgentSettings, f"{self.place}:{self.lines[key]}")
            except ConfigError as error:
                self.problems.append(str(error))
        if self.problems:
            raise ConfigError("\n".join(self.problems))
        return self.values

    def _line(self, line: str, number: int) -> None:
        if line.startswith("- ") and isinstance(self.values.get(self.last), list):
            self.values[self.last].append(_plain(line[2:]))
            return
        pair = _PAIR.fullmatch(line)
        if pair is None:
            self.problems.append(f"{self.place}:{number}: expected `key: value`, not {line!r}")
        elif pair[1] not in KEYS:
            hint = did_you_mean(pair[1], KEYS)
            self.problems.append(f"{self.place}:{number}: {pair[1]}: unknown setting{hint}")
        elif pair[1] in self.values:
            self.problems.append(f"{self.place}:{number}: {pair[1]} stands here twice")
        else:
            self.last = pair[1]
            self.lines[self.last] = number
            self.values[self.last] = _value(self.last, pair[2])


def _value(key: str, text: str) -> Any:
    if key in LISTS:
        inner = text.strip()
        if inner.startswith("[") and inner.endswith("]"):
            inner = inner[1:-1]
        return [_plain(item) for item in inner.split(",") if item.strip()]
    plain = _plain(text)
    return int(plain) if key == "max_steps" and plain.isdecimal() else plain


def _plain(text: str) -> str:
    quoted = _QUOTED.fullmatch(text.strip())
    return (quoted[1] or quoted[2] or "") if quoted else text.strip()
