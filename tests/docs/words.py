"""Whether a command line names what there is: words, options and files, without running it."""

import re
import shlex
import subprocess
import sys
from functools import cache

import click
from typer.main import get_command

from shipmate.cli.commands import app
from tests.docs.pages import ROOT


@cache
def dev_words() -> frozenset[str]:
    said = subprocess.run(
        [sys.executable, ROOT / "dev", "--help"], capture_output=True, text=True, check=True
    ).stdout
    return frozenset(re.findall(r"^  ([a-z0-9]+)  ", said, re.MULTILINE))


def shipmate_problem(words: list[str]) -> str:
    """What `shipmate WORDS…` names that is not there; options are looked up, values are not."""
    here: click.Command = get_command(app)
    rest = list(words)
    while isinstance(here, click.Group) and rest and not rest[0].startswith("-"):
        word = rest.pop(0)
        if word not in here.commands:
            return f"no command {word!r}"
        here = here.commands[word]
    known = {"--help", *(name for option in here.params for name in option.opts)}
    unknown = [w for w in rest if re.match(r"--?[a-z]", w) and w.partition("=")[0] not in known]
    return f"no option {unknown[0]}" if unknown else ""


def dev_problem(words: list[str]) -> str:
    """The same for `./dev`, which takes minutes to run."""
    if not words or words == ["--help"]:
        return ""
    word, *rest = words
    if word not in dev_words():
        return f"./dev has no word {word!r}"
    if word == "run":
        return shipmate_problem(["serve", *rest])
    if word in ("bench", "check"):
        return ""
    return files_problem(rest)


def files_problem(words: list[str]) -> str:
    """Words that look like a path of this repository have to be one."""
    paths = [w for w in words if re.match(r"(?:src|tests|scripts|web|docs|bench)/", w)]
    missing = [p for p in paths if not (ROOT / p).exists()]
    return f"no {missing[0]}" if missing else ""


def problem(line: str) -> str | None:
    """What is wrong with a command of ours; None when it is not one."""
    words = shlex.split(line, comments=True)
    if not words:
        return None
    first, *rest = words
    if first in ("./dev", "dev"):
        return dev_problem(rest)
    if first == "shipmate":
        return shipmate_problem(rest)
    if first.startswith(".venv/bin/"):
        return files_problem(rest)
    return None


PACKAGE = ROOT / "src/shipmate"
GENERATED = {"src/shipmate/static/"}
"""Made by a build, so not in every clone."""
ROOMS = {place.stem for place in PACKAGE.iterdir() if not place.stem.startswith(("_", "."))}


def there(span: str) -> bool | None:
    """Whether a file or module of ours that a sentence names is there; None when it names none.

    Files count from the root of the clone, from the package, or from the page's folder."""
    if re.fullmatch(r"(?:src|tests|scripts|web|docs|bench|[a-z]+)/[\w./-]*", span):
        top = span.partition("/")[0]
        places = [ROOT / span, PACKAGE / span]
        return (
            span in GENERATED or any(p.exists() for p in places)
            if (ROOT / top).exists() or top in ROOMS
            else None
        )
    if " " in span:
        return None
    if span.endswith((".py", ".toml")):
        return (PACKAGE / span).exists() if span.endswith(".py") else None
    head, _, rest = span.removeprefix("shipmate.").partition(".")
    if head in ROOMS and re.fullmatch(r"[a-z_]+(\.[a-z_]+)?", rest):
        module, _, name = rest.partition(".")
        files = [PACKAGE / head / f"{module}.py", PACKAGE / head / module / "__init__.py"]
        return any(file.exists() and name in file.read_text("utf-8") for file in files)
    return None
