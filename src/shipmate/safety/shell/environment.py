"""Variables that make other programs run something."""

import re

from shipmate.safety.shell.risk import HIDDEN, SAFE, Finding, ask, danger

HIJACK = re.compile(
    r"LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|BASH_ENV|PROMPT_COMMAND|PS[0-4]|SHELLOPTS"
    r"|BASHOPTS|BASH_FUNC_.*|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS"
    r"|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|CONFIG\w*|ALLOW_PROTOCOL)"
    r"|PAGER|MANPAGER|SYSTEMD_PAGER|DELTA_PAGER|BAT_PAGER|EDITOR|VISUAL|FCEDIT|BROWSER"
    r"|LESSOPEN|LESSCLOSE|MANOPT|SSH_ASKPASS|SUDO_ASKPASS|PERL5OPT|PERL5DB|RUBYOPT|PYTHONSTARTUP"
    r"|PYTHONINSPECT|PYTHONHOME"
    r"|GCONV_PATH|NLSPATH|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|CMAKE_\w+_LAUNCHER"
    r"|RIPGREP_CONFIG_PATH|FZF_DEFAULT_COMMAND|TAR_OPTIONS|RSYNC_RSH|CVS_RSH|SVN_SSH|KUBE_EDITOR"
    r"|NODE_REPL_EXTERNAL_MODULE|ZDOTDIR|INPUTRC|OPENSSL_CONF|WGETRC|CURL_HOME"
)
OPTIONS = {
    "NODE_OPTIONS": r"(^|\s)(-r|--(require|import|loader|experimental-loader|inspect))",
    "ENV": r"/",
    "GIT_DIR": r"^(?!\.git/?$)",
    "GIT_COMMON_DIR": r"^(?!\.git/?$)",
    "HISTFILE": r"^(/dev/null)?$",
    "LESS": r"[!+]",
    "MAKEFLAGS": r"eval|SHELL",
    **dict.fromkeys(
        ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS"),
        r"agent|OnError|OnOutOfMemory|@|debug",
    ),
}
"""Variables that run something only with some values."""
HARMLESS_PROGRAMS = re.compile(
    r"none|/dev/null|s?ccache||cat|less|more|true|false|:|vi|vim|nano|emacs|echo|/bin/(true|cat)"
)
LOCALE = re.compile(r"LC_\w+|LANG|LANGUAGE|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|COLUMNS|LINES")
PATHS = re.compile(r"\$?PATH|/(usr/)?(local/)?s?bin|~/[\w./-]*bin|/(opt|usr/local)/[\w./-]*bin|")


def assignment(name: str, value: str) -> Finding:
    """What setting a variable means for the commands that see it."""
    if LOCALE.fullmatch(name):
        return SAFE
    if name == "PATH":
        return _path(value)
    if name in OPTIONS:
        bad = re.search(OPTIONS[name], value) or (HIDDEN in value and name == "NODE_OPTIONS")
        return _hijack(name) if bad else _plain(name)
    switch = value in {"0", "1"} and not name.startswith("GIT_")
    if HIJACK.fullmatch(name) and not switch and not HARMLESS_PROGRAMS.fullmatch(value):
        return _hijack(name)
    return _plain(name)


def _path(value: str) -> Finding:
    """A folder that is searched before the system's own can replace any program."""
    head = value.partition(":")[0]
    if head == HIDDEN or PATHS.fullmatch(head) or head.startswith(HIDDEN):
        return _plain("PATH")
    return danger("hijack", f"PATH is searched first in {head}: programs can be replaced there.")


def _hijack(name: str) -> Finding:
    return danger("hijack", f"The variable {name} can make other programs run code.")


def _plain(name: str) -> Finding:
    return ask("variable", f"Sets the variable {name}.")
