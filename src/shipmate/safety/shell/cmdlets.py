"""Cmdlets: which read, which change, and how they are made to run something."""

import re
from collections.abc import Iterator
from itertools import pairwise

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge, program
from shipmate.safety.shell.flow import downloaded
from shipmate.safety.shell.risk import HIDDEN, SAFE, Finding, ask, block, danger
from shipmate.safety.shell.services import always

ALIASES: dict[str, str] = {
    **dict.fromkeys(("rm", "ri", "del", "erase", "rd", "rmdir"), "remove-item"),
    **dict.fromkeys(("gci", "ls", "dir"), "get-childitem"),
    **dict.fromkeys(("gc", "cat", "type"), "get-content"),
    "iex": "invoke-expression",
    **dict.fromkeys(("iwr", "curl", "wget"), "invoke-webrequest"),
    "irm": "invoke-restmethod",
    **dict.fromkeys(("saps", "start"), "start-process"),
    **dict.fromkeys(("kill", "spps"), "stop-process"),
    **dict.fromkeys(("cp", "copy", "cpi"), "copy-item"),
    **dict.fromkeys(("mv", "move", "mi"), "move-item"),
    **dict.fromkeys(("echo", "write"), "write-output"),
    **dict.fromkeys(("cd", "sl", "chdir"), "set-location"),
    **dict.fromkeys(("pwd", "gl"), "get-location"),
    **dict.fromkeys(("ps", "gps"), "get-process"),
    **dict.fromkeys(("?", "where"), "where-object"),
    **dict.fromkeys(("%", "foreach"), "foreach-object"),
    "select": "select-object",
    "sort": "sort-object",
    "measure": "measure-object",
    "group": "group-object",
    "ft": "format-table",
    "fl": "format-list",
    "sls": "select-string",
    "gi": "get-item",
    "gm": "get-member",
    "gcm": "get-command",
    "ni": "new-item",
    "sc": "set-content",
    "clc": "clear-content",
    "icm": "invoke-command",
    "sajb": "start-job",
    "oh": "out-host",
    "man": "get-help",
    "help": "get-help",
    "h": "get-history",
    "history": "get-history",
    "cls": "clear-host",
    "md": "new-item",
    "mkdir": "new-item",
    "icim": "invoke-cimmethod",
    "iwmi": "invoke-wmimethod",
    "sal": "set-alias",
    "nal": "new-alias",
    "sp": "set-itemproperty",
    "rp": "remove-itemproperty",
    "ii": "invoke-item",
    "etsn": "enter-pssession",
    "nsn": "new-pssession",
    "sasv": "start-service",
    "spsv": "stop-service",
    "ac": "add-content",
    "cli": "clear-item",
    "tee": "tee-object",
    **dict.fromkeys(("compare", "diff"), "compare-object"),
    "gal": "get-alias",
    "gsv": "get-service",
    "gp": "get-itemproperty",
    "rvpa": "resolve-path",
    "rni": "rename-item",
    "ren": "rename-item",
}
TEXT = frozenset(
    "write-output write-host out-host out-string out-null out-default format-table format-list"
    " format-wide format-custom get-process get-service get-date get-help get-command get-member"
    " get-location get-alias get-host get-history get-culture get-random get-uptime get-module"
    " select-object sort-object measure-object group-object compare-object where-object get-verb"
    " convertto-json convertfrom-json join-path split-path clear-host get-computerinfo".split()
)
FILES = frozenset("get-childitem get-content get-item get-itemproperty select-string test-path"
                  " resolve-path get-filehash set-location get-acl import-csv".split())  # fmt: skip
ALWAYS: dict[str, str] = {
    **dict.fromkeys(("stop-computer", "restart-computer"), "Stops the machine."),
    **dict.fromkeys(("add-mppreference", "set-mppreference", "remove-mppreference",
                     "set-executionpolicy", "disable-netfirewallprofile", "set-netfirewallprofile",
                     "new-netfirewallrule", "remove-netfirewallrule", "set-acl"),
                    "Changes the protection of the system."),
    **dict.fromkeys(("new-localuser", "add-localgroupmember", "remove-localuser",
                     "set-localuser", "disable-localuser"), "Changes accounts."),
    **dict.fromkeys(("register-scheduledtask", "unregister-scheduledtask", "new-service",
                     "set-service", "stop-service", "remove-service", "restart-service",
                     "start-service", "register-scheduledjob", "new-scheduledtask"),
                    "Changes what runs on the machine."),
    **dict.fromkeys(("clear-eventlog", "remove-eventlog", "clear-history"), "Covers tracks."),
    **dict.fromkeys(("remove-partition", "set-partition", "remove-volume", "set-disk",
                     "remove-vm", "disable-computerrestore"), "Changes disks."),
    **dict.fromkeys(("invoke-wmimethod", "invoke-cimmethod", "enter-pssession", "new-pssession",
                     "set-itemproperty", "new-itemproperty", "remove-itemproperty", "add-type"),
                    "Changes the system or runs code unseen."),
}  # fmt: skip
BLOCKED = frozenset({"format-volume", "clear-disk", "initialize-disk", "reset-physicaldisk"})
SYSTEM = re.compile(
    r"(set|new|add|remove|disable|enable|stop|start|restart|clear|reset|rename|register|unregister"
    r"|invoke|suspend|uninstall|revoke|grant|block|unblock|mount|dismount|resize|repair|unlock"
    r"|update|unprotect)-"
    r"(netfirewall|local(user|group)|service$|scheduled|mp|bitlocker|smb|net(adapter|ip|route|dns)"
    r"|dns|ad[a-z]|vm|wmi|cim|partition|disk|volume|physicaldisk|virtualdisk|storagepool|computer"
    r"|acl$|executionpolicy|ps(remoting|sessionconfiguration)|windows|pnpdevice|appx|eventlog"
    r"|tpm|secureboot|uac|hotfix|bcd|shadow|restorepoint|mailbox|az[a-z]|mg[a-z])"
    r"|(disable|uninstall)-(?!module|script|package)\w+|checkpoint-computer|restore-computer",
    re.I,
)
"""Verbs that change, and what of the machine they change."""
SECRETS = frozenset("get-secret unlock-secretstore export-pfxcertificate".split())
PROFILE = re.compile(r"\$\{?profile\b|profile\.ps1", re.I)
SENT = re.compile(r"-inf\w*", re.I)


def cmdlet(word: str) -> str:
    return program(word).removeprefix("microsoft.powershell.management\\")


def flag(call: Call, name: str) -> bool:
    """A parameter, which may be shortened (`-rec`) or have a value (`-Force:$true`)."""
    given = (w[1:].split(":")[0].lower() for w in call.args if re.match(r"-[a-zA-Z]", w))
    return any(name.startswith(word) for word in given)


def plain(call: Call) -> list[str]:
    return [word.replace("\\", "/") for word in call.args if not re.match(r"-[a-zA-Z]", word)]


def judge_remove(call: Call) -> Iterator[Finding]:
    """`Remove-Item`: red with -Recurse or -Force, or after a recursive listing."""
    yield ask("delete", "Deletes files.")
    if any(word.lower() == "-whatif" for word in call.args):
        return
    if flag(call, "recurse") or flag(call, "force") or re.search(r"/[sfq]\b", " ".join(call.args)):
        yield danger("remove-item", "Deletes files recursively or by force.")
    if call.feed and re.search(r"-r(ec\w*)?\b", call.feed, re.I):
        yield danger("remove-item", "Deletes everything that was found in all folders.")
    if any(re.fullmatch(r"@\w+", word) for word in call.args):
        yield danger("hidden-option", "The options are kept in a variable.")
    targets = plain(call)
    roots = [t for t in targets if re.fullmatch(r"([a-z]:)?/?\*?|~/?\*?", t, re.I)]
    if flag(call, "recurse") and any(t != "*" for t in roots):
        yield block("delete-root", "Deletes a drive or a home.")
    if any(t in {"*", "*.*", "."} for t in targets):
        yield danger("delete-everything", "Deletes everything in a folder.")
    yield from (places.write(target, call.scope) for target in targets)


def judge_expression(call: Call) -> Iterator[Finding]:
    """`Invoke-Expression`: literal text is judged, anything else is not visible."""
    words = [w for w in call.args if not re.fullmatch(r"-c\w*", w, re.I)]
    if not words or HIDDEN in " ".join(words) or call.feed:
        yield danger("unseen-code", "Runs text that is not visible.")
    else:
        yield ask("eval", "Runs text as a command.")
        yield call.script(" ".join(words), "powershell")


def judge_start(call: Call) -> Iterator[Finding]:
    """`Start-Process`: the program with its arguments."""
    yield ask("wrapper", "Starts another program.")
    if re.search(r"-verb\s+runas", " ".join(call.args), re.I):
        yield danger("privilege", "Runs with the rights of an administrator.")
    words = [w for w in call.args if not re.match(r"-(f|a|n|w|p|no|wait)", w, re.I)]
    if words:
        yield call.run([part for word in words for part in re.split(r"[ ,]+", word) if part])


def judge_blocked(_call: Call) -> Iterator[Finding]:
    yield block("disk", "Destroys what is on a disk.")


def judge_text(call: Call) -> Iterator[Finding]:
    yield ask("hidden-text", "Shows a value that is not visible.") if _hidden(call) else SAFE


def judge_files(call: Call) -> Iterator[Finding]:
    words = plain(call)
    for word in words[1:] if call.name == "select-string" else words:
        if re.match(r"[a-z]\w+:", word, re.I):
            yield ask("outside", "Reads the environment, the registry or another drive.")
        yield places.read(word, call.scope)


def judge_stop_process(call: Call) -> Iterator[Finding]:
    yield ask("process", "Ends processes.")
    if "*" in " ".join(call.args) or (call.feed and flag(call, "force")):
        yield danger("kill-all", "Ends all processes.")


def judge_write(call: Call) -> Iterator[Finding]:
    yield ask("write", "Changes files.")
    if PROFILE.search(" ".join(call.args)):
        yield danger("guarded-place", "Changes a startup file.")
    named = plain(call)
    content = call.name in {"set-content", "add-content", "out-file", "tee-object"}
    yield from (places.write(w, call.scope) for w in named if not (content and " " in w))
    if call.name == "new-item" and re.search(r"symbolic|junction|hardlink", " ".join(named), re.I):
        roots = [w for w in named if re.fullmatch(r"([a-z]:)?/(users|windows)?/?|~/?", w, re.I)]
        if roots:
            yield danger("link-outside", "Links to a drive, a home or a folder of the system.")


def judge_web(call: Call) -> Iterator[Finding]:
    yield ask("network", "Uses the network.")
    for option, value in pairwise(call.args):
        path = value.replace("\\", "/")
        if re.match(r"-(o|des)", option, re.I) and HIDDEN not in value:
            yield places.write(path, call.scope)
            downloaded(call, path)
    if call.name == "start-bitstransfer":
        downloaded(call, call.args[-1].replace("\\", "/"))
    if "169.254.169.254" in " ".join(call.args):
        yield danger("metadata", "Asks the metadata service of a cloud, which gives keys.")
    for path in _sent(call):
        real = places.resolve(path, call.scope.cwd)
        if places.secret(real) or places.secret_shaped(real):
            yield danger("exfiltration", f"Sends keys or passwords ({path}).")


def _sent(call: Call) -> Iterator[str]:
    """Values of `-InFile`."""
    for word, following in zip(call.args, (*call.args[1:], ""), strict=False):
        name, colon, value = word.partition(":")
        if SENT.fullmatch(name):
            yield (value if colon else following).strip("'\"").replace("\\", "/")


def _hidden(call: Call) -> bool:
    return HIDDEN in " ".join(call.args) and call.name.startswith(("write", "out"))


JUDGES: dict[str, Judge] = {
    "remove-item": judge_remove,
    "invoke-expression": judge_expression,
    "start-process": judge_start,
    "stop-process": judge_stop_process,
    **dict.fromkeys(BLOCKED, judge_blocked),
    **{name: always(reason) for name, reason in ALWAYS.items()},
    **dict.fromkeys(TEXT, judge_text),
    **dict.fromkeys(FILES, judge_files),
    **dict.fromkeys(("set-content", "add-content", "new-item", "copy-item", "move-item", "out-file",
                     "clear-content", "rename-item", "tee-object", "export-csv"), judge_write),
    **dict.fromkeys(("invoke-webrequest", "invoke-restmethod", "start-bitstransfer"), judge_web),
}  # fmt: skip
READERS = TEXT | FILES


def named(name: str) -> Judge | None:
    """Cmdlets that change the machine, by the words they are made of."""
    if name in SECRETS:
        return always("Reads keys.")
    return always("Changes the machine.") if SYSTEM.match(name) else None
