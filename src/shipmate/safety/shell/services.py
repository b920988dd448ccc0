"""The machine and what runs on it: power, processes, accounts, containers, clouds, databases."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge, after_options
from shipmate.safety.shell.risk import Finding, Risk, ask, capped, danger


@dataclass(frozen=True, slots=True)
class Rule:
    """Asks, and is red where the arguments, joined by blanks, match."""

    dangerous: str
    reason: str

    def judge(self, call: Call) -> Iterator[Finding]:
        yield ask("program", f"Runs {call.name}.")
        if re.match(self.dangerous, " ".join(call.args), re.I):
            yield danger("system", self.reason)


def always(reason: str) -> Judge:
    """The judge of a program that is red with any arguments."""
    return lambda _call: [danger("system", reason)]


ALWAYS: dict[str, str] = {
    **dict.fromkeys(("shutdown", "reboot", "halt", "poweroff", "telinit"), "Stops the machine."),
    **dict.fromkeys(
        ("useradd", "adduser", "userdel", "deluser", "usermod", "groupadd", "groupmod", "passwd",
         "chpasswd", "visudo", "vipw", "chsh", "gpasswd", "chfn", "dscl", "sudoedit"),
        "Changes accounts.",
    ),
    **dict.fromkeys(("insmod", "modprobe", "rmmod", "kexec"), "Changes the running kernel."),
    **dict.fromkeys(("umount", "swapoff", "pivot_root"), "Changes mounts."),
    **dict.fromkeys(("setenforce", "setcap", "aa-disable"), "Lowers the system's protection."),
    **dict.fromkeys(("dropdb", "dropuser", "mysqladmin"), "Changes or drops databases."),
    **dict.fromkeys(("at", "batch", "atrm"), "Runs something later, unseen."),
    **dict.fromkeys(("rimraf", "del-cli", "trash-empty"), "Deletes files recursively."),
    **dict.fromkeys(("gcore", "procdump", "secret-tool", "kwallet-query", "mimikatz"),
                    "Reads keys or the memory of a process."),
    **dict.fromkeys(("grub-install", "efibootmgr", "update-grub"), "Changes the boot."),
}  # fmt: skip
RULES: dict[str, Rule] = {
    "init": Rule(r"[0-6sS]\b", "Stops the machine."),
    "systemctl": Rule(
        r"(?!.*\b(status|list-\w+|is-\w+|show|cat)\b).*\b(stop|start|restart|reload|disable|enable"
        r"|mask|kill|poweroff|reboot|halt|isolate|edit|link|set-\w+|daemon-\w+|suspend|hibernate)\b",
        "Changes services of the system.",
    ),
    "service": Rule(r"\S+ (stop|restart|start|reload)", "Changes services of the system."),
    "launchctl": Rule(r"(load|unload|bootstrap|bootout|remove|submit|setenv)", "Changes services."),
    "crontab": Rule(r"(?!.*-l).*|^$", "Changes what runs by the clock."),
    "history": Rule(r"-[cdw]", "Covers tracks."),
    "iptables": Rule(r"(?!-L|-S|--list|-nL).+", "Changes the firewall."),
    "ip6tables": Rule(r"(?!-L|-S|--list|-nL).+", "Changes the firewall."),
    "nft": Rule(r"(?!list).+", "Changes the firewall."),
    "ufw": Rule(r"(?!status|version).+", "Changes the firewall."),
    "firewall-cmd": Rule(r".*--(add|remove|reload|panic|set)", "Changes the firewall."),
    "sysctl": Rule(r".*(-w|=|-p|--write|--system)", "Changes the running kernel."),
    "ip": Rule(r".*\b(add|del|delete|set|flush|replace|exec)\b", "Changes the network."),
    "route": Rule(r".*\b(add|del|delete|flush)\b", "Changes the network."),
    "helm": Rule(r".*\b(uninstall|delete|rollback)\b", "Deletes what runs in a cluster."),
    "terraform": Rule(r".*(\bdestroy\b|-auto-approve|state rm|\btaint\b)", "Destroys resources."),
    "tofu": Rule(r".*(\bdestroy\b|-auto-approve|state rm)", "Destroys resources."),
    "pulumi": Rule(
        r".*(\bdestroy\b|stack rm|up .*(-y|--yes|--skip-preview))", "Destroys resources."
    ),
    "aws": Rule(
        r".*\b(rm .*--recursive|rb\b|sync .*--delete|(delete|terminate|remove|purge)-\w+"
        r"|get-secret-value|configure get|configure export|get-(session|login|authorization)\w*"
        r"|ssm get-param.*--with-decryption|ecr get-login)",
        "Deletes what is in the cloud, or shows its keys.",
    ),
    "gcloud": Rule(
        r".*\b(delete|destroy|remove-\w+|reset|print-\w*-token|versions access)\b",
        "Deletes what is in the cloud, or shows its keys.",
    ),
    "gsutil": Rule(r".*\b(rm|rb|rsync .*-d)\b", "Deletes what is in the cloud."),
    "az": Rule(
        r".*\b(delete|purge|remove|get-access-token|secret show|keys list)\b",
        "Deletes what is in the cloud, or shows its keys.",
    ),
    "doctl": Rule(r".*\b(delete|destroy|rm)\b", "Deletes what is in the cloud."),
    "heroku": Rule(
        r".*(:destroy|:reset|:delete|pg:reset|auth:token)", "Deletes what is in the cloud."
    ),
    "flyctl": Rule(r".*\b(destroy|delete)\b", "Deletes what is in the cloud."),
    "fly": Rule(r".*\b(destroy|delete)\b", "Deletes what is in the cloud."),
    "vercel": Rule(r".*\b(rm|remove)\b", "Deletes what is in the cloud."),
    "redis-cli": Rule(r".*\b(flushall|flushdb|shutdown|config set)\b", "Deletes data."),
    "rails": Rule(r".*db:(drop|reset|purge|schema:load)", "Drops a database."),
    "rake": Rule(r".*db:(drop|reset|purge|schema:load)", "Drops a database."),
    "artisan": Rule(r".*(migrate:(fresh|reset|refresh)|db:wipe)", "Drops a database."),
    "prisma": Rule(r".*(migrate reset|--force-reset|--accept-data-loss)", "Drops a database."),
    "drizzle-kit": Rule(r".*(--force|\bdrop\b)", "Forces a schema onto a database."),
    "sequelize": Rule(r".*db:drop", "Drops a database."),
    "sequelize-cli": Rule(r".*db:drop", "Drops a database."),
    "knex": Rule(r".*rollback.*--all", "Drops a database."),
    "supabase": Rule(r".*db reset", "Drops a database."),
    "django-admin": Rule(r"\b(flush|reset_db|sqlflush)\b", "Empties a database."),
    "npm": Rule(
        r"(unpublish|exec .*-c |token|deprecate|config .*(_auth|token|password))",
        "Withdraws a package, or shows a token.",
    ),
    "rpm": Rule(r".*(--eval|-E\b).*%\(", "Runs a command."),
    "unset": Rule(r".*\bHISTFILE\b", "Covers tracks."),
    "pass": Rule(r"(show|rm|edit|generate|-c)\b|(?!ls|find|git|insert)\S+$", "Reads keys."),
    "op": Rule(r"(read|item get|document get|inject|run|signin)\b", "Reads keys."),
    "bw": Rule(r"(get|list|export|unlock)\b", "Reads keys."),
    "vault": Rule(r"(read|kv get|kv delete|delete|token|print)\b", "Reads keys."),
    "keyring": Rule(r"(get|del)\b", "Reads keys."),
    "cargo": Rule(r"(yank|owner)", "Withdraws a package."),
    "docker-compose": Rule(
        r".*\bdown\b.*( -v|--volumes|--rmi)|.*\brm\b.*-\w*[fv]", "Deletes data."
    ),
    "vagrant": Rule(r"destroy", "Destroys a machine."),
    "virsh": Rule(r"(destroy|undefine|vol-delete)", "Destroys a machine."),
    "vboxmanage": Rule(r".*(--delete|poweroff)", "Destroys a machine."),
    "tmutil": Rule(r"(delete|disable)", "Deletes backups."),
    "csrutil": Rule(r"disable", "Changes the protection of the system."),
    "spctl": Rule(r".*--(master|global)-disable", "Changes the protection of the system."),
    "defaults": Rule(r"(delete|write .*Login)", "Changes settings of the system."),
    "nvram": Rule(r"(?!-p).+", "Changes the boot."),
    "security": Rule(r"(find-\w+-password|dump-keychain|delete|export)", "Reads keys."),
    "gpg": Rule(r".*--(export-secret|delete-secret|delete-key)", "Reads or deletes keys."),
    "make": Rule(r".*\bSHELL=", "Makes make use another shell."),
    "journalctl": Rule(r".*--(vacuum|rotate|flush)", "Deletes logs."),
    "apt-get": Rule(r".*(-o\s*\S*(Pre|Post)-Invoke|APT::\S*Invoke)", "Runs a command."),
    "apt": Rule(r".*(-o\s*\S*(Pre|Post)-Invoke|APT::\S*Invoke)", "Runs a command."),
    "yum": Rule(r"(remove|erase|autoremove).*-y", "Removes packages."),
    "dpkg": Rule(r".*(--force|--purge|-P\b)", "Removes packages."),
    "brew": Rule(r"(uninstall|remove).*(--force|--zap)", "Removes packages."),
    "umask": Rule(r"0?00[0-7]", "Lets everybody write."),
    "enable": Rule(r".*-f", "Loads a library into the shell."),
    "mount": Rule(r"(?!-l$|-t \w+$).+", "Changes mounts."),
    "swapon": Rule(r"(?!--show|-s).+", "Changes mounts."),
    **dict.fromkeys(
        ("gdb", "lldb"),
        Rule(r".*(\bshell\b|!|python|source |-x |system)", "The debugger runs commands."),
    ),
}
EDITORS = frozenset("vim vi nvim view gvim emacs nano less more most ex ed".split())
SQL = re.compile(
    r"\b(drop\s+(database|table|schema|user|role|index|view)|truncate\s+(table\s+)?\w"
    r"|delete\s+from\s+[\w.`\"]+\s*(;|$|['\"])|alter\s+table\s+\w+\s+drop)|\.(shell|system)\b"
    r"|\\!|dropDatabase|\.drop\(|deleteMany\(\{\}\)|flushall|copy\s.*\b(to|from)\s+program",
    re.I,
)
CONTAINER_RED = re.compile(
    r"--privileged|--(pid|ipc|uts|userns|cgroupns)[= ]host|--cap-add|--device\b"
    r"|--security-opt|docker\.sock|containerd\.sock"
    r"|(-v|--volume)[= ]?[a-z]:[\\/]*(windows|users)?[\\/]?:"
    r"|(-v|--volume)[= ]?(/|~|/etc|/root|/home(/[^/:]+)?|/var(/run|/lib)?|/usr|/bin|/boot|/dev):"
    r"|(source|src)=(/|~|/etc|/root|/var/run)[,\s]"
)
CONTAINER_DELETES = re.compile(
    r"^((system|volume|image|container|network|builder|buildx|compose)\s+(\S+\s+)*?(prune|rm|remove)\b"
    r"|(rm|rmi|kill)\s.*(-\w*f|--force|--all|-a\b)|compose\s.*\bdown\b.*( -v|--volumes|--rmi)"
    r"|swarm leave|stack rm|service rm)"
)
CLUSTER_DELETES = re.compile(
    r"\b(get|describe) secrets?\b.* (-o|--output)|config view .*--raw"
    r"|\b(delete|drain|cordon|taint|evict)\b|replace\s.*--force|scale\s.*--replicas[= ]0|--prune\b"
)


def judge_kill(call: Call) -> Iterator[Finding]:
    yield ask("process", "Ends processes.")
    targets = [w for w in call.args if not w.startswith("-") or re.fullmatch(r"-1", w)]
    first = call.args[:1]
    if call.name == "kill":
        after = targets[1:] if first == ("-1",) and len(targets) > 1 else targets
        if {"-1", "1", "0"} & set(after):
            yield danger("kill-all", "Ends all processes.")
        return
    if call.has("uUgGv", ("user", "inverse", "euid", "uid")) or call.name == "killall5":
        yield danger("kill-all", "Ends all processes of a user.")
    if any(
        re.fullmatch(r"[.*^$\[\]a-z]?[.*^$]*|systemd|init|sshd|\.\+", w) for w in call.operands("s")
    ):
        yield danger("kill-all", "Ends all processes.")


def judge_editor(call: Call) -> Iterator[Finding]:
    yield ask("editor", "Opens an interactive program.")
    if any(
        re.search(r"(^|[+:\s|])!|:?\b(call )?system\(|:w!|eval|shell-command|:terminal", w)
        for w in call.args
    ):
        yield danger("runs-program", "The editor or pager is told to run a command.")
    if call.feed is not None and re.search(r"(^|\n)\s*([\d,$%]*!|[ger]+ *!)", call.feed):
        yield danger("runs-program", "The editor is given a command to run.")
    yield from (f for f in places.reads(call.args, call.scope) if f.rule == "secret")
    if call.name == "less":
        yield from (places.write(path, call.scope) for path in call.values("oO", ("log-file",)))
    if call.has("S", ("cmd",)) and call.name in {"vim", "vi", "nvim"}:
        yield danger("runs-program", "The editor runs a script.")


def judge_container(call: Call) -> Iterator[Finding]:
    """docker and podman: the host's doors are red; the command inside is red at most."""
    yield ask("container", "Works with containers.")
    text = " ".join(call.args)
    if CONTAINER_RED.search(text):
        yield danger("container-escape", "Gives the container rights or folders of the host.")
    at = after_options(call.args, "Hlc", ("host", "context", "config", "log-level"))
    rest = call.args[at:]
    if CONTAINER_DELETES.match(" ".join(rest)):
        yield danger("container-delete", "Deletes containers, images or their data.")
    rest = rest[1:] if rest[:1] == ("compose",) else rest
    if rest[:1] and rest[0] in {"run", "exec"}:
        inner = rest[1:]
        skip = after_options(
            inner,
            "eutvwpmhlac",
            (
                "env",
                "user",
                "volume",
                "workdir",
                "name",
                "publish",
                "mount",
                "network",
                "entrypoint",
                "memory",
                "cpus",
                "platform",
                "label",
            ),
        )
        if command := inner[skip + 1 :]:
            yield capped(call.run(command), Risk.DANGEROUS)  # fmt: skip


def judge_cluster(call: Call) -> Iterator[Finding]:
    yield ask("cluster", "Works on a cluster.")
    before = call.args[: call.args.index("--")] if "--" in call.args else call.args
    if CLUSTER_DELETES.search(" ".join(before)):
        yield danger("cluster-delete", "Deletes what runs in a cluster, or shows its keys.")
    if "--" in call.args and (inner := call.args[call.args.index("--") + 1 :]):
        yield capped(call.run(inner), Risk.DANGEROUS)


def judge_ansible(call: Call) -> Iterator[Finding]:
    """`ansible HOSTS -a TEXT`: what its modules run on other hosts is red at most."""
    yield ask("network", "Works on other hosts.")
    texts = call.values("a", ("args",))
    yield from (capped(call.script(text, "sh"), Risk.DANGEROUS) for text in texts)


def judge_database(call: Call) -> Iterator[Finding]:
    yield ask("database", "Opens a database.")
    text = " ".join(call.args)
    if SQL.search(text) or (call.feed and SQL.search(call.feed)):
        yield danger("database", "Deletes data, or runs a command through the database.")


JUDGES: dict[str, Judge] = {
    **{name: always(reason) for name, reason in ALWAYS.items()},
    **{name: rule.judge for name, rule in RULES.items()},
    **dict.fromkeys(("kill", "pkill", "killall", "skill", "killall5"), judge_kill),
    **dict.fromkeys(EDITORS, judge_editor),
    **dict.fromkeys(("docker", "podman", "nerdctl"), judge_container),
    "ansible": judge_ansible,
    **dict.fromkeys(("kubectl", "oc", "k3s"), judge_cluster),
    **dict.fromkeys(
        ("psql", "mysql", "mariadb", "sqlite3", "sqlite", "mongo", "mongosh", "clickhouse-client"),
        judge_database,
    ),
}
