"""Words that options take."""

from enum import StrEnum


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


class Form(StrEnum):
    MD = "md"
    HTML = "html"
    JSON = "json"
