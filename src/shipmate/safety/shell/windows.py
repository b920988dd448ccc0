"""Programs of Windows. They count in every shell: a bash on Windows can start them too."""

import re
from collections.abc import Iterator

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge
from shipmate.safety.shell.risk import HIDDEN, SAFE, Finding, Risk, ask, block, danger
from shipmate.safety.shell.services import Rule

DRIVE_ROOT = re.compile(
    r"([a-z]:|%\w+%)?[\\/]?(\*|\*\.\*)?|[a-z]:[\\/](windows|users|program files).*", re.I
)
RULES: dict[str, Rule] = {
    "vssadmin": Rule(r"(delete|resize)", "Deletes the backups of the system."),
    "wbadmin": Rule(r"delete", "Deletes the backups of the system."),
    "cipher": Rule(r"/w", "Wipes what was deleted."),
    "bcdedit": Rule(r".+", "Changes the boot."),
    "bootrec": Rule(r".+", "Changes the boot."),
    "reg": Rule(
        r"(delete|add|import|load|restore|unload|copy|(save|export) .*\b(sam|security|system)\b)",
        "Changes the registry, or reads its keys.",
    ),
    "regedit": Rule(r".+", "Changes the registry."),
    "net": Rule(r"(user|localgroup|group|share|stop|start|accounts|use)\b.+", "Changes accounts."),
    "net1": Rule(r"(user|localgroup|group|share|stop|start)\b.+", "Changes accounts."),
    "taskkill": Rule(r".*(/im \*|/f\b|/fi\b)", "Ends processes by force."),
    "icacls": Rule(r".*/(grant|deny|remove|reset|setowner|inheritance)", "Changes rights."),
    "cacls": Rule(r".*/[gprde]", "Changes rights."),
    "takeown": Rule(r".+", "Changes the owner."),
    "schtasks": Rule(r"/(create|delete|change|run)", "Runs something later, unseen."),
    "sc": Rule(r"(delete|stop|config|create|start|failure)", "Changes services of the system."),
    "wmic": Rule(r".*(delete|call|create|terminate|uninstall)", "Changes the system."),
    "netsh": Rule(r".*(firewall|advfirewall|set|add|delete|reset|winsock)", "Changes the network."),
    "wevtutil": Rule(r"(cl|clear-log|sl)", "Covers tracks."),
    "fsutil": Rule(r".*(delete|set|create|usn|reparse)", "Changes file systems."),
    "diskpart": Rule(r".*", "Changes disks."),
    "bitsadmin": Rule(r".*/(transfer|addfile|create|setnotify)", "Downloads, unseen."),
    "certutil": Rule(
        r".*-(urlcache|decode|decodehex|delstore|addstore|ping)", "Downloads or decodes."
    ),
    "mshta": Rule(r".+", "Runs code that cannot be seen."),
    "rundll32": Rule(r".+", "Runs code that cannot be seen."),
    "regsvr32": Rule(r".+", "Runs code that cannot be seen."),
    "msiexec": Rule(r".*/(i|x|q)", "Installs or removes programs."),
    "wscript": Rule(r".+", "Runs a script of Windows."),
    "cscript": Rule(r".+", "Runs a script of Windows."),
    "robocopy": Rule(r".*/(mir|purge|move|mov)\b", "Deletes files at the target."),
    "attrib": Rule(r".*[+-][sh]\b", "Hides files."),
    "setx": Rule(r".+", "Changes the environment for good."),
    "tskill": Rule(r"\*", "Ends all processes."),
    "manage-bde": Rule(r".*-(off|lock|forcerecovery|protectors)", "Changes disks."),
    "convert": Rule(r"[a-z]: /fs", "Changes disks."),
    "subst": Rule(r".+", "Changes drives."),
    "runas": Rule(r".+", "Runs with the rights of another user."),
    "logoff": Rule(r".*", "Ends the user's work."),
    **dict.fromkeys(
        (
            "installutil",
            "regasm",
            "regsvcs",
            "odbcconf",
            "cmstp",
            "pcalua",
            "hh",
            "mavinject",
            "msdt",
            "presentationhost",
            "ieexec",
            "xwizard",
            "infdefaultinstall",
            "pcwrun",
            "runonce",
            "scriptrunner",
            "ttdinject",
            "tttracer",
            "verclsid",
            "extexport",
            "rasautou",
            "wsreset",
            "microsoft.workflow.compiler",
            "register-cimprovider",
            "desktopimgdownldr",
            "ie4uinit",
            "syncappvpublishingserver",
            "atbroker",
            "diskshadow",
            "ntdsutil",
            "winrs",
            "psexec",
            "psexec64",
            "msxsl",
            "runscripthelper",
            "appvlp",
            "bginfo",
            "csi",
            "dnx",
            "rcsi",
            "cdb",
            "tracker",
            "workfolders",
            "stordiag",
            "fltmc",
            "wuauclt",
            "dsquery",
            "mimikatz",
        ),
        Rule(r".*", "Runs code that cannot be seen."),
    ),
    "control": Rule(r".*\.(cpl|dll)", "Runs code that cannot be seen."),
    "msbuild": Rule(r".*(https?:|\\\\)", "Runs code from the network."),
    "dism": Rule(r".*/(disable|remove|enable|add|apply|cleanup)", "Changes the system."),
    "cmdkey": Rule(r".*/(add|delete|generic)", "Changes or uses kept passwords."),
    "esentutl": Rule(r".*/(y|vss|d)\b.*", "Copies files that are in use, as databases of keys."),
    "nltest": Rule(r".*/(sc_reset|sc_change|server)", "Changes the domain."),
    "winrm": Rule(r".*(invoke|quickconfig|set|create)", "Works on other machines."),
    "mstsc": Rule(r".+", "Works on another machine."),
    "assoc": Rule(r".+=", "Changes what opens files."),
    "ftype": Rule(r".+=", "Changes what opens files."),
}


def switches(call: Call) -> set[str]:
    """The letters of `/f /s` and `/f/s`."""
    text = " ".join(word for word in call.args if word.startswith("/")).lower()
    return set(re.findall(r"/([a-z]+)", text))


def judge_del(call: Call) -> Iterator[Finding]:
    """`del`: red by force, recursively, or for everything; a drive's root is blocked."""
    yield ask("delete", "Deletes files.")
    given = switches(call)
    targets = [w for w in call.args if not re.fullmatch(r"(/[a-zA-Z-:]+)+", w)]
    if given & {"f", "s"}:
        yield danger("del", "Deletes files by force or in all folders below.")
    if any(re.fullmatch(r"(\*|\*\.\*|\.|\.\\)", target) for target in targets):
        yield danger("delete-everything", "Deletes everything in a folder.")
    if "s" in given and any(
        re.match(r"[a-z]:", t, re.I) and DRIVE_ROOT.fullmatch(t) for t in targets
    ):
        yield block("delete-root", "Deletes a drive.")
    yield from (places.read(t.replace("\\", "/"), call.scope) for t in targets)


def judge_rd(call: Call) -> Iterator[Finding]:
    """`rd`: with `/s` it deletes a folder with all it contains."""
    yield ask("delete", "Deletes an empty folder.")
    if "s" in switches(call):
        yield danger("rd", "Deletes folders with all they contain.")
        targets = [w for w in call.args if not w.startswith("/")]
        if any(re.match(r"[a-z]:|[\\/]$", t, re.I) and DRIVE_ROOT.fullmatch(t) for t in targets):
            yield block("delete-root", "Deletes a drive.")


def judge_cmd(call: Call) -> Iterator[Finding]:
    """`cmd /c`: the rest of the line is a script of cmd."""
    yield ask("shell", "Starts a shell.")
    at = next((i for i, w in enumerate(call.args) if re.fullmatch(r"/[ckr]", w, re.I)), None)
    if at is not None:
        yield call.script(" ".join(call.args[at + 1 :]), "cmd")
    elif call.feed is not None:
        yield (
            danger("unseen-code", "Runs code that cannot be seen: it comes from a pipe.")
            if HIDDEN in call.feed
            else call.script(call.feed, "cmd")
        )


def judge_powershell(call: Call) -> Iterator[Finding]:
    """`powershell`: encoded text is hidden, so it is red."""
    yield ask("shell", "Starts a shell.")
    words = iter(enumerate(call.args))
    for at, word in words:
        name = word.lower().lstrip("-/")
        if not word.startswith(("-", "/")):
            yield call.script(" ".join(call.args[at:]), "powershell")
            return
        if name == "ec" or "encodedcommand".startswith(name):
            yield danger("encoded", "The command is encoded, so nobody can read it.")
            return
        if "command".startswith(name):
            yield call.script(" ".join(call.args[at + 1 :]), "powershell")
            return
        if "file".startswith(name):
            return
        if any(option.startswith(name) for option in VALUED):
            next(words, None)
    if call.feed is not None:
        yield danger("unseen-code", "Runs code that cannot be seen: it comes from a pipe.")


VALUED = ("executionpolicy", "windowstyle", "version", "outputformat", "inputformat", "workingdir")


def judge_start(call: Call) -> Iterator[Finding]:
    """`start`: a title in quotes and switches come before the program."""
    yield ask("wrapper", "Starts another program.")
    words = list(call.args)
    while words and re.fullmatch(r"/\w+", words[0]):
        words.pop(0)
    for first in (0, 1):
        if words[first:]:
            yield call.run(words[first:])


def judge_forfiles(call: Call) -> Iterator[Finding]:
    """`forfiles /c "…"`: a command for each file that is found."""
    yield ask("wrapper", "Runs a command for each file.")
    words = iter(call.args)
    for word in words:
        if word.lower() == "/c":
            yield call.script(next(words, ""), "cmd")


def judge_link(call: Call) -> Iterator[Finding]:
    """`mklink`: a link to a drive's root, the system's or the users' folders is red."""
    yield ask("write", "Makes a link.")
    named = [w for w in call.args if not re.fullmatch(r"/[dhj]", w, re.I)]
    if len(named) > 1 and DRIVE_ROOT.fullmatch(named[1]):
        yield danger("link-outside", "Links to a drive or to a folder of the system.")
    yield from (places.write(w.replace("\\", "/"), call.scope) for w in named[:1])


def judge_type(call: Call) -> Iterator[Finding]:
    """Readers of cmd."""
    for word in call.args:
        if not re.fullmatch(r"(/[\w:+-]+)+", word):
            yield places.read(word.replace("\\", "/"), call.scope)


def judge_copy(call: Call) -> Iterator[Finding]:
    """`copy a+b c`, `xcopy`, `move`, `ren`: what is written last, what is read first."""
    yield ask("write", "Copies or moves files.")
    words = [w.replace("\\", "/") for w in call.args if not re.fullmatch(r"(/[\w:+-]+)+", w)]
    targets, sources = words[1:][-1:], words[:-1] or words
    for source in (part for word in sources for part in word.split("+")):
        if (found := places.read(source, call.scope)).risk > Risk.ASK:
            yield found
        if call.name in {"move", "ren", "rename"}:
            yield places.write(source, call.scope)
        for target in targets:
            if target.endswith("/") or target == ".":
                yield places.write(f"{target.rstrip('/')}/{source.split('/')[-1]}", call.scope)
        if source.lower() == "nul":
            yield danger("destroy", "Empties a file.")
    yield from (places.write(target, call.scope) for target in targets)


def judge_text(call: Call) -> Iterator[Finding]:
    yield ask("hidden-text", "Shows a variable.") if HIDDEN in " ".join(call.args) else SAFE


def judge_findstr(call: Call) -> Iterator[Finding]:
    files = [word for word in call.args if not word.startswith("/")][1:]
    yield from (places.read(word.replace("\\", "/"), call.scope) for word in files)


JUDGES: dict[str, Judge] = {
    **{name: rule.judge for name, rule in RULES.items()},
    **dict.fromkeys(("del", "erase"), judge_del),
    "rd": judge_rd,
    "cmd": judge_cmd,
    "forfiles": judge_forfiles,
    "mklink": judge_link,
    "xcopy": judge_copy,
    **dict.fromkeys(("powershell", "pwsh"), judge_powershell),
}
"""In every shell. None of these is ever safe."""
COPIES = ("copy", "xcopy", "move", "ren", "rename", "replace")
CMD: dict[str, Judge] = {
    "rmdir": judge_rd,
    "start": judge_start,
    "call": judge_start,
    **dict.fromkeys(("type", "dir", "more", "tree", "fc", "cd", "chdir"), judge_type),
    **dict.fromkeys(("echo", "rem", "ver", "vol", "cls", "where", "whoami", "hostname", "tasklist",
                     "systeminfo", "exit", "prompt", "title"), judge_text),
    **dict.fromkeys(("findstr", "find"), judge_findstr),
    **dict.fromkeys(COPIES, judge_copy),
}  # fmt: skip
"""What cmd itself means by these names."""
CMD_READERS = frozenset(CMD) - {"rmdir", "start", "call", *COPIES}
