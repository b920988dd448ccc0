"""Which places a command may read or write, by the spelling of a path alone."""

import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from shipmate.safety.shell.call import Scope
from shipmate.safety.shell.risk import HIDDEN, SAFE, Finding, ask, block, danger

HOME = "/~"
HARMLESS_DEVICES = re.compile(rf"/dev/(null|stdin|stdout|stderr|tty|zero|full|fd/(\d+|{HIDDEN}))")
"""The last is a process substitution: what runs in it is judged by itself."""
DISKS = re.compile(
    r"/dev/(r?disk|[shv]d[a-z]|xvd|nvme|mmcblk|mapper/|md\d|loop|dm-|k?mem\b|port\b|ram\d|sr\d|mtd)"
)
SYSTEM = re.compile(
    r"/(etc|usr|bin|sbin|lib\w*|boot|sys|proc|dev(?!/shm/)|var/(spool|lib|log)|system|library)(/|$)"
    r"|[a-z]:/+(windows|program ?files( \(x86\))?|programdata)(/|$)",
    re.I,
)
ROOTS = re.compile(
    r"/(~[^/]*|root|home|home/[^/]+|users|users/[^/]+|etc|usr|usr/(bin|lib|sbin|local)|bin|sbin"
    r"|lib\w*|boot|sys|proc|dev|var|opt|srv|mnt|media|system|library|applications)?/?",
    re.I,
)
SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".azure", ".gcloud", "gcloud"})
SECRET_NAMES = re.compile(
    r"(id_(rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass|\.git-credentials|\.my\.cnf|\.pypirc"
    r"|\.vault-token|\.bash_history|\.zsh_history|master\.passwd|krb5\.keytab)"
)
SECRET_PATHS = re.compile(
    r"/etc/(shadow|gshadow|sudoers|ssl/private|ssh/ssh_host)|/proc/[^/]+/(environ|mem)|/\.docker/config"
    r"|/\.config/(gh|git/credentials|op)|/var/run/secrets|/run/secrets",
    re.I,
)
SECRET_SHAPED = re.compile(
    r"(\.env(\..+)?|credentials(\.json)?|.*\.(pem|key|p12|pfx|keystore|jks|kdbx))", re.I
)
EXAMPLE = re.compile(r"\.(example|sample|template|dist)$", re.I)
STARTUP = re.compile(
    r"(\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile"
    r"|zlogin|zlogout|kshrc|cshrc|tcshrc|inputrc|vimrc|gvimrc|exrc|emacs|gitconfig|npmrc|netrc"
    r"|pypirc|xinitrc|xprofile|pythonrc|gdbinit|curlrc|wgetrc|envrc|mcp\.json)"
    r"|.*profile\.ps1|authorized_keys|config\.fish|.*\.pth|sitecustomize\.py|usercustomize\.py|crontab)",
    re.I,
)
GUARDED = re.compile(
    r"(^|/)(\.git|\.ssh|\.aws|\.gnupg|\.kube|\.vscode|\.idea|\.claude|\.cursor|\.codex|\.gemini"
    r"|\.config/(autostart|fish|systemd)|launchagents|launchdaemons|\.github/(workflows|actions)"
    r"|node_modules/\.bin|\.local/bin|\.?venv/bin|\.circleci|start menu/programs/startup)(/|$)"
    r"|(^/~|powershell)/(microsoft\.\w+_)?profile\.ps1$",
    re.I,
)


def resolve(path: str, cwd: str = ".") -> str:
    """`path` without `.` and `..`: relative to the project, or absolute; home is `/~`."""
    path = re.sub(r"^~", HOME, path)
    joined = posixpath.normpath(posixpath.join(re.sub(r"^~", HOME, cwd), path))
    return re.sub(r"^//", "/", joined)


def outside(path: str) -> bool:
    """A resolved path that is not plainly inside the project."""
    return path.startswith(("/", "..")) or HIDDEN in path or bool(re.match(r"[a-zA-Z]:", path))


def is_root(path: str) -> bool:
    """The root, a home or a system's top folder, or everything in one of them."""
    bare = re.sub(r"/(\.?\*|\*\*|\{.*\})+$", "", path) if path != "/" else path
    return path.startswith("/") and ROOTS.fullmatch(bare or "/") is not None


def secret(path: str) -> bool:
    """A place where keys and passwords are kept."""
    parts = path.lower().split("/")
    if parts[-1].endswith(".pub") or parts[-1] in {"known_hosts", "authorized_keys"}:
        return False
    if SECRET_PATHS.search(path) or SECRET_NAMES.fullmatch(parts[-1]):
        return True
    return outside(path) and any(_secret_folder(part) for part in parts)


def _secret_folder(name: str) -> bool:
    """One of them, or a pattern that finds one (bash wants the dot to be named)."""
    if name in SECRET_FOLDERS:
        return True
    patterned = re.search(r"[*?\[]", name) is not None and re.match(r"\.|\[|@\(", name) is not None
    return patterned and any(fnmatchcase(one, name) for one in SECRET_FOLDERS)


def secret_shaped(path: str) -> bool:
    base = posixpath.basename(path)
    return SECRET_SHAPED.fullmatch(base) is not None and not EXAMPLE.search(base)


def read(path: str, scope: Scope) -> Finding:
    """What reading this path means."""
    real = resolve(path, scope.cwd)
    if real.startswith(("/dev/tcp/", "/dev/udp/")):
        return danger("network-device", f"Opens a network connection ({real}).")
    if HARMLESS_DEVICES.fullmatch(real):
        return SAFE
    if secret(real):
        return danger("secret", f"Reads keys or passwords ({path}).")
    if secret_shaped(real):
        return ask("secret-shaped", f"Reads a file that may hold secrets ({path}).")
    if outside(real):
        return ask("outside", f"Reads outside the project, or a place that is not known ({path}).")
    return SAFE


def write(path: str, scope: Scope) -> Finding:
    """What writing to this path means."""
    real = resolve(path, scope.cwd)
    if HARMLESS_DEVICES.fullmatch(real):
        return SAFE
    if real.startswith(("/dev/tcp/", "/dev/udp/")):
        return danger("network-device", f"Sends to a network connection ({real}).")
    if DISKS.match(real):
        return block("disk", f"Writes onto a disk or into memory ({real}).")
    return _guarded(path, real)


def _guarded(path: str, real: str) -> Finding:
    base = posixpath.basename(real)
    if SYSTEM.match(real):
        return danger("system-file", f"Changes a file of the system ({path}).")
    if GUARDED.search(real) or STARTUP.fullmatch(base) or secret(real):
        return danger("guarded-place", f"Changes a place that can run code or holds keys ({path}).")
    if secret_shaped(real):
        return danger("guarded-place", f"Changes a file that may hold secrets ({path}).")
    return ask("write", f"Writes {path}." if HIDDEN not in path else "Writes a file.")


def paths_in(words: tuple[str, ...]) -> Iterator[str]:
    """What may be a path in these words: operands, and values glued to options."""
    for word in words:
        if not word.startswith("-"):
            yield word
        elif "=" in word:
            yield word.split("=", 1)[1]
        elif match := re.search(r"(~|\.\.|/).*", word):
            yield match[0]


def reads(words: tuple[str, ...], scope: Scope) -> Iterator[Finding]:
    for path in paths_in(words):
        yield read(path.removeprefix("@"), scope)
