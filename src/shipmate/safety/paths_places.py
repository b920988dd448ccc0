"""Places in a project that deserve a second look: what runs by itself, what holds secrets.

Names are compared after `fold`. The lists are data; a name is listed when writing it makes
a program run something (hooks, editor tasks, shell start-up, CI), widens an agent's rights,
or holds credentials.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise

_IGNORABLE = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}
"""Default ignorable code points (Unicode DerivedCoreProperties) that are not of class Cf."""


def _ignorable(char: str) -> bool:
    point = ord(char)
    return (
        point in _IGNORABLE
        or 0x180B <= point <= 0x180F
        or 0xFE00 <= point <= 0xFE0F
        or 0xE0000 <= point <= 0xE0FFF
        or unicodedata.category(char) == "Cf"
    )


def fold(name: str) -> str:
    """The name as the most forgiving file system reads it: APFS (case, composed letters,
    ignorable characters) and NTFS (streams, dots and blanks at the end)."""
    if not name.isascii():
        name = "".join(char for char in name if not _ignorable(char))
        name = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    stem = name.casefold().split(":", 1)[0] or name.casefold()
    return stem.rstrip(" .") or stem


def _listed(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


FOLDERS: Mapping[str, str] = {
    **_listed("is part of the version control's own data", ".git git~1 .hg .svn .bzr .jj"),
    **_listed("holds hooks that run by themselves", ".husky .githooks .git-hooks"),
    **_listed("holds keys", ".ssh .gnupg .gpg .password-store"),
    **_listed("holds credentials", ".aws .azure .kube .gcloud .envs .1password"),
    **_listed("holds an editor's settings", ".vscode .idea .vs .fleet .zed .devcontainer .nova"),
    **_listed(
        "holds an agent's settings",
        ".shipmate .agents .claude .codex .cursor .gemini .windsurf .continue .roo .cline"
        " .clinerules .aider .amazonq .kiro .junie .opencode .qwen .trae .augment .copilot"
        " .crush .goose .kilocode .factory",
    ),
    **_listed("runs when a program starts", ".ipython .jupyter .nvim .gradle"),
    **_listed("holds CI workflows", ".teamcity .circleci .buildkite .woodpecker .semaphore"),
    **_listed("runs when a shell enters the folder", ".direnv .mise"),
}
PAIRS: Mapping[tuple[str, str], str] = {
    (".github", "workflows"): "holds CI workflows",
    (".github", "actions"): "holds CI workflows",
    (".gitlab", "ci"): "holds CI workflows",
    (".gitea", "workflows"): "holds CI workflows",
    (".forgejo", "workflows"): "holds CI workflows",
    (".github", "copilot-instructions.md"): "holds an agent's settings",
    (".github", "instructions"): "holds an agent's settings",
    (".github", "prompts"): "holds an agent's settings",
    (".github", "agents"): "holds an agent's settings",
    (".github", "hooks"): "holds an agent's settings",
    (".config", "fish"): "runs when a shell starts",
    (".config", "nvim"): "runs when a program starts",
    (".mvn", "extensions.xml"): "names programs that a build runs",
    (".mvn", "jvm.config"): "names programs that a build runs",
    ("wrapper", "gradle-wrapper.properties"): "names programs that a build runs",
    (".config", "git"): "is git's configuration",
    (".config", "gh"): "holds credentials",
    (".config", "systemd"): "runs by itself",
    (".config", "autostart"): "runs by itself",
    ("library", "launchagents"): "runs by itself",
    (".local", "bin"): "holds programs that run by name",
    (".cargo", "config"): "names programs that a build runs",
    (".cargo", "config.toml"): "names programs that a build runs",
    (".cargo", "credentials"): "holds credentials",
    (".cargo", "credentials.toml"): "holds credentials",
    (".docker", "config.json"): "holds credentials",
    (".m2", "settings.xml"): "holds credentials",
    (".gem", "credentials"): "holds credentials",
    (".bundle", "config"): "holds credentials",
    (".yarn", "releases"): "holds programs that run by name",
    (".yarn", "plugins"): "holds programs that run by name",
    ("node_modules", ".bin"): "holds programs that run by name",
} | {
    (venv, folder): "holds programs that run by name"
    for venv in ("venv", ".venv", "env", ".env", "virtualenv")
    for folder in ("bin", "scripts")
}
NAMES: Mapping[str, str] = {
    **_listed(
        "runs when a shell starts",
        ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv"
        " .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .logout .inputrc .xinitrc"
        " .xprofile .xsession .xsessionrc .pam_environment config.fish"
        " microsoft.powershell_profile.ps1",
    ),
    **_listed("is git's configuration", ".gitconfig .gitmodules .lfsconfig"),
    **_listed(
        "runs when a program starts",
        ".vimrc .gvimrc .exrc .nvimrc .nvim.lua .emacs .dir-locals.el .lldbinit .gdbinit"
        " .ideavimrc .pdbrc .psqlrc .sqliterc .renviron .octaverc .ghci .ocamlinit .hgrc .ripgreprc"
        " .tmux.conf .screenrc .pythonrc .pythonstartup .rprofile .irbrc .pryrc .wgetrc .curlrc"
        " sitecustomize.py usercustomize.py .pnpmfile.cjs .mise.toml mise.toml",
    ),
    **_listed(
        "holds hooks that run by themselves",
        ".pre-commit-config.yaml .pre-commit-config.yml lefthook.yml .lefthook.yml"
        " lefthook.yaml .huskyrc",
    ),
    **_listed(
        "holds CI workflows",
        ".gitlab-ci.yml .gitlab-ci.yaml .travis.yml azure-pipelines.yml azure-pipelines.yaml"
        " jenkinsfile bitbucket-pipelines.yml appveyor.yml .appveyor.yml .drone.yml"
        " .woodpecker.yml .cirrus.yml cloudbuild.yaml cloudbuild.yml buildspec.yml",
    ),
    **_listed(
        "holds an agent's settings",
        ".mcp.json mcp.json mcp_config.json claude_desktop_config.json .claude.json .cursorrules"
        " .windsurfrules .clinerules .aider.conf.yml opencode.json opencode.jsonc .roomodes"
        " .goosehints",
    ),
    **_listed(
        "is what agents are told to do",
        "agents.md agents.override.md claude.md claude.local.md gemini.md",
    ),
    **_listed(
        "names the registry that packages come from", ".yarnrc .yarnrc.yml pip.conf .condarc"
    ),
}
SECRET_NAMES: Mapping[str, str] = {
    **_listed(
        "holds credentials",
        ".npmrc .pypirc .netrc _netrc .git-credentials .pgpass pgpass.conf .my.cnf .htpasswd"
        " .dockercfg .s3cfg .boto .terraformrc .vault-token credentials credentials.json"
        " credentials.yml credentials.yaml credentials.toml credentials.xml secrets.json"
        " secrets.yml secrets.yaml secrets.toml client_secret.json service-account.json"
        " service_account.json master.key token.json .secret .secrets kubeconfig terraform.tfstate",
    ),
    **_listed(
        "is a private key",
        "id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk",
    ),
}
SECRET_FOLDERS = {".ssh", ".gnupg", ".gpg", ".password-store", ".aws", ".azure", ".kube", ".envs"}
SECRET_PAIRS = {pair for pair, reason in PAIRS.items() if reason == "holds credentials"}
SECRET_SUFFIXES = (".pem", ".key", ".ppk", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".p8")
SUFFIXES: Mapping[str, str] = {
    ".pth": "runs when Python starts",
    ".code-workspace": "holds an editor's settings",
}
_PICTURE = "[\u2190-\u2bff\U0001f000-\U0001faff]"
_JOINED = re.compile(f"(?<={_PICTURE})\ufe0f?(\u200d(?={_PICTURE}))?")
"""What joins pictures to one, as in a family: it hides nothing."""
_ENV = re.compile(r"\.env(rc)?([._-].*)?")
_TEMPLATE = re.compile(r".*[._-](example|sample|template|dist|defaults?|tpl|tmpl)")


def danger_of(parts: Sequence[str]) -> str:
    """Why writing here asks in red, or "". `parts`: the path below the project's folder."""
    names = [fold(part) for part in parts]
    for name in names:
        if reason := FOLDERS.get(name):
            return f"{name} {reason}"
    for pair in pairwise(names):
        if reason := PAIRS.get(pair):
            return f"{'/'.join(pair)} {reason}"
    last = names[-1] if names else ""
    if reason := NAMES.get(last, "") or _by_suffix(last):
        return f"{last} {reason}"
    return secret_of(parts) or _unseen(parts)


def secret_of(parts: Sequence[str]) -> str:
    """Why reading this asks, or "": it is shaped like a file of secrets."""
    names = [fold(part) for part in parts]
    if hidden := SECRET_FOLDERS.intersection(names[:-1]):
        return f"{min(hidden)} holds keys or credentials"
    for pair in pairwise(names):
        if pair in SECRET_PAIRS:
            return f"{'/'.join(pair)} holds credentials"
    last = names[-1] if names else ""
    if reason := SECRET_NAMES.get(last):
        return f"{last} {reason}"
    if _ENV.fullmatch(last) and not _TEMPLATE.fullmatch(last):
        return f"{last} holds secrets of an environment"
    if last.endswith(SECRET_SUFFIXES):
        return f"{last} is shaped like a private key"
    return ""


def _by_suffix(name: str) -> str:
    return next((reason for end, reason in SUFFIXES.items() if name.endswith(end)), "")


def _unseen(parts: Sequence[str]) -> str:
    """Control, direction and zero-width characters let a name look like another one."""
    text = _JOINED.sub("", "".join(parts))
    for char in text:
        point = ord(char)
        if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} or point in _IGNORABLE:
            return f"the name has a character that cannot be seen (U+{point:04X})"
    return ""
