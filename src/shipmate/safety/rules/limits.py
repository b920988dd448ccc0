"""What no rule may allow: programs that run what else they are given."""

from shipmate.safety.rules.pattern import Pattern, RuleError
from shipmate.safety.shell import interpreters, wrappers
from shipmate.safety.shell.call import program

RUNNERS = frozenset(
    """ssh mosh rsync scp expect find fd awk gawk mawk sed vi vim nvim ed ex emacs nano less more
    man gdb lldb make-kpkg socat nc ncat crontab at batch osascript powershell pwsh cmd php-cgi
    ipython jupyter irb pry ghci sqlite3 psql mysql mongosh redis-cli jshell kotlin erl iex
    java javaw mono dotnet-script npx ssh-agent gosu su-exec setpriv cgexec dbus-launch runcon
    faketime start-stop-daemon systemd-inhibit caffeinate""".split()
)
"""Programs that run code or commands given in their words, beside those that judges follow."""
STATE = frozenset(
    """alias unalias bind cd chdir declare dirs enable eval exec export hash local mapfile popd
    printf pushd read readarray readonly set shopt source trap typeset ulimit umask unset . [ test
    builtin command""".split()
)
"""Builtins that change the shell in which what follows runs. Some are safe; none is covered."""
SUBCOMMANDS = frozenset(
    """git hg svn npm pnpm yarn bun deno pip pip3 uv poetry pdm cargo go rustup docker podman
    docker-compose kubectl helm terraform tofu ansible gh glab aws az gcloud apt apt-get dnf yum
    brew snap systemctl service conda mvn gradle dotnet flutter dart composer bundle gem rails
    mix stack cabal nix""".split()
)
"""Programs whose first word says what they do: their name alone says nothing."""
RUN_ANYTHING = {
    "npm": {"exec", "x", "explore", "init", "create"},
    "pnpm": {"exec", "dlx", "create"},
    "yarn": {"exec", "dlx", "create", "node"},
    "bun": {"x", "run", "create"},
    "docker": {"run", "exec", "compose", "buildx"},
    "podman": {"run", "exec"},
    "docker-compose": {"run", "exec"},
    "kubectl": {"run", "exec", "debug"},
    "git": {"submodule", "bisect", "filter-branch", "rebase", "config", "difftool", "mergetool"},
    "go": {"run", "generate", "tool"},
    "cargo": {"run"},
    "gh": {"alias", "extension", "api"},
    "bundle": {"exec"},
    "gem": {"exec"},
    "nix": {"run", "shell", "develop"},
    "dotnet": {"run", "exec"},
}
"""Subcommands that run what they are given: a rule names these with all their words, or not."""


def uncoverable(words: tuple[str, ...]) -> bool:
    """Whether a command is one that no rule may allow: a shell, an interpreter, a wrapper (one
    that is not known, too, when it is given a shell), a builtin that changes the shell, `git` and
    its like without a subcommand."""
    name = program(words[0])
    known = (name, interpreters.language(name))
    if any(one in interpreters.JUDGES for one in known) or _wraps(name, words):
        return True
    if name in RUNNERS or name in STATE or "=" in words[0]:
        return True
    if name in SUBCOMMANDS:
        return len(words) == 1 or words[1].startswith("-")
    return any(program(word) in interpreters.JUDGES for word in words[1:])


def _wraps(name: str, words: tuple[str, ...]) -> bool:
    kind = wrappers.WRAPPERS.get(name)
    if kind is not None and kind.after:
        return kind.after in words
    return name in wrappers.JUDGES


def check_allowing(pattern: Pattern) -> None:
    """Raise `RuleError` when a rule with this pattern may not allow."""
    if pattern.kind == "web" and pattern.name.startswith("*."):
        raise RuleError("A rule allows one host; only rules that deny or ask take a `*`.")
    if pattern.kind in ("write", "read") and pattern.name in ("*", "**", "**/*"):
        raise RuleError(
            "A rule that allows names a folder or a file. For all files of a project there is the "
            "bypass of a session."
        )
    if pattern.kind != "shell":
        return
    words, name = pattern.words, program(pattern.words[0])
    if uncoverable(words):
        raise RuleError(
            f"{name} runs whatever else it is given, so no rule allows it. Name the command that "
            "it runs, or let it ask."
        )
    if pattern.open and words[1:2] and words[1] in RUN_ANYTHING.get(name, ()):
        raise RuleError(f"`{name} {words[1]} *` would allow any command; name it whole.")
