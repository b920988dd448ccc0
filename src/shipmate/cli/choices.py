"""Words that options take, and the options that many commands have."""

# typer leaves type parameters of click open
# pyright: reportUnknownMemberType=false

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="The data directory; else $SHIPMATE_DATA, else the place for a user's data.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="For programs: JSON, one value a line.")]


class Approve(StrEnum):
    ASK = "ask"
    NONE = "none"
    FILES = "files"
    ALL = "all"


class Shell(StrEnum):
    BASH = "bash"
    CMD = "cmd"
    POWERSHELL = "powershell"
    ANY = "any"


class Role(StrEnum):
    ADMIN = "admin"
    USER = "user"
    VIEWER = "viewer"


class Who(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Form(StrEnum):
    MD = "md"
    HTML = "html"
    JSON = "json"


class Effect(StrEnum):
    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


class Kind(StrEnum):
    """What a rule can name."""

    SHELL = "shell"
    WRITE = "write"
    READ = "read"
    WEB = "web"
    MCP = "mcp"
    TOOL = "tool"
