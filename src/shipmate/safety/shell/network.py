"""Programs that use the network: uploads of secrets, downloads, tunnels, other hosts."""

import re
from collections.abc import Iterator

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge, after_options
from shipmate.safety.shell.flow import downloaded
from shipmate.safety.shell.risk import HIDDEN, Finding, Risk, ask, capped, danger

METADATA = re.compile(
    r"169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal|100\.100\.100\.200"
    r"|\[?fd00:ec2::254\]?|metadata\.azure|0xa9fea9fe|2852039166",
    re.I,
)
UPLOADS = ("data", "data-binary", "data-raw", "data-urlencode", "data-ascii", "form", "upload-file",
           "post-file", "body-file", "json")  # fmt: skip
SSH_RUNS = re.compile(
    r"(proxycommand|localcommand|permitlocalcommand|knownhostscommand|pkcs11provider|proxyusefdpass"
    r"|securitykeyprovider|match)\b",
    re.I,
)
SSH_VALUED = "BbcDEeFIiJLlmOopQRSWw"


def judge_transfer(call: Call) -> Iterator[Finding]:
    """curl, wget and their like."""
    yield ask("network", "Uses the network.")
    yield from _addresses(call)
    for value in call.values("dFT", UPLOADS):
        path = value.split("@", 1)[-1].split("<", 1)[-1].split(";")[0]
        real = places.resolve(path, call.scope.cwd)
        if places.secret(real) or places.secret_shaped(real):
            yield danger("exfiltration", f"Sends keys or passwords ({path}).")
    for path in call.values("oO" if call.name == "wget" else "o", ("output", "output-document")):
        if path != "-":
            yield places.write(path, call.scope)
            downloaded(call, path)
    if call.has("O", ("remote-name",)) or call.name == "wget":
        for address in call.operands("ooHXdAeu"):
            downloaded(call, address.split("?")[0].rstrip("/").split("/")[-1])


def _addresses(call: Call) -> Iterator[Finding]:
    for word in call.args:
        if METADATA.search(word):
            yield danger("metadata", "Asks the metadata service of a cloud, which gives keys.")
        if word.startswith("file:"):
            yield places.read(re.sub(r"^file:/*", "/", word), call.scope)
    yield from (f for f in places.reads(call.args, call.scope) if f.rule == "secret")
    if call.has("K", ("config",)) and call.name == "curl":
        yield ask("option", "The options come from a file.")
    if call.name == "wget" and any(
        not option.startswith("robots") for option in call.values("e", ("execute",))
    ):
        yield danger("option", "Sets any option of wget, programs among them.")


def judge_raw(call: Call) -> Iterator[Finding]:
    """nc and socat: a shell on the other end is red."""
    yield ask("network", "Opens a raw connection.")
    yield from _addresses(call)
    text = " ".join(call.args)
    if call.name != "socat" and (
        call.has("e", ("exec", "sh-exec")) or re.search(r"(^| )-\w*c ", text)
    ):
        yield danger("remote-shell", "Gives a program to the other end of a connection.")
    if re.search(r"\b(exec|system|shell)\b:", text, re.I):
        yield danger("remote-shell", "Gives a program to the other end of a connection.")


def judge_ssh(call: Call) -> Iterator[Finding]:
    """ssh: the remote command is judged; on another host it is red at most."""
    yield ask("network", "Works on another host.")
    for option in call.values("o"):
        if SSH_RUNS.match(option.strip()) and not re.search(r"=\s*no(ne)?$", option, re.I):
            yield danger("runs-program", "An option of ssh starts another program.")
    if call.values("SD") and call.name in {"scp", "sftp"}:
        yield danger("runs-program", "An option starts another program.")
    if call.values("RD") and call.name == "ssh":
        yield danger("tunnel", "Opens a tunnel.")
    if call.name != "ssh":
        yield from _sent(call, call.args)
        return
    at = after_options(call.args, SSH_VALUED)
    command = " ".join(call.args[at + 1 :])
    if command.strip():
        yield capped(call.script(command, "sh"), Risk.DANGEROUS)
    elif call.feed is not None:
        yield danger("remote-shell", "Gives a shell on another host commands from a pipe.")


def _sent(call: Call, words: tuple[str, ...]) -> Iterator[Finding]:
    """Keys that are copied to another host, or away at least."""
    for found in places.reads(words, call.scope):
        if found.rule == "secret":
            yield found
        elif found.rule == "secret-shaped":
            yield danger("exfiltration", "Sends a file that may hold secrets.")


def judge_rsync(call: Call) -> Iterator[Finding]:
    yield ask("write", "Copies files, perhaps to another host.")
    for chosen in call.values("e", ("rsh", "rsync-path")):
        if not re.fullmatch(r"ssh( -[pli4-6C]+ ?[^\s-]\S*| -[46C])*|(sudo )?rsync", chosen):
            yield danger("runs-program", "An option of rsync starts another program.")
    if any(word.startswith(("--del", "--remove-source")) for word in call.options()):
        yield danger("destroy", "Deletes files at the target or the source.")
    yield from _sent(call, call.args[:-1])
    for path in call.operands("efMBTf", ("exclude", "include", "rsh", "filter", "files-from"))[-1:]:
        if ":" not in path:
            yield places.write(path if not path.endswith("/") else f"{path}x", call.scope)


def judge_mail(call: Call) -> Iterator[Finding]:
    yield ask("network", "Sends data over the network.")
    yield from _addresses(call)
    if call.name == "ftp" and any(word.startswith("-s:") for word in call.args):
        yield danger("runs-program", "Runs commands of a file.")
    if call.name == "openssl" and call.has("engine", ("engine",)) and "-engine" in call.args:
        yield danger("runs-program", "Loads a library.")


def judge_hub(call: Call) -> Iterator[Finding]:
    """`gh`, `glab`: deleting is red."""
    yield ask("network", "Acts on a forge in the user's name.")
    words = call.operands("XFfHRtbB", ("title", "body", "method", "field", "repo"))
    if {"delete", "archive"} & set(words[:2]) or HIDDEN in " ".join(words[:1]):
        yield danger("remote-delete", "Deletes something on the forge.")
    if any(value.upper() == "DELETE" for value in call.values("X", ("method",))):
        yield danger("remote-delete", "Deletes something on the forge.")
    if words[:2] == ["alias", "set"] or words[:2] == ["auth", "token"]:
        yield danger("secret", "Shows a token, or defines commands.")


JUDGES: dict[str, Judge] = {
    **dict.fromkeys(("curl", "wget", "http", "https", "xh", "aria2c"), judge_transfer),
    **dict.fromkeys(("nc", "ncat", "netcat", "socat", "telnet"), judge_raw),
    **dict.fromkeys(("ssh", "scp", "sftp", "autossh", "mosh"), judge_ssh),
    "rsync": judge_rsync,
    **dict.fromkeys(("mail", "mutt", "sendmail", "openssl", "ftp", "lftp", "rclone"), judge_mail),
    **dict.fromkeys(("gh", "glab", "hub"), judge_hub),
}
