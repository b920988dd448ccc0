"""Attempts to get out of a sandbox. Each says ESCAPED, in the room, where it got through.

`{outside}` is a folder beside the project with a file `canary` in it, `{data}` the data directory,
`{server}` the process that started the command, `{python}` an interpreter. A script that begins
with `py:` is Python; `call` is its access to system calls.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attempt:
    name: str
    script: str
    alone: bool = True
    """Landlock and seccomp hold it without bubblewrap, too."""
    hosts: tuple[str, ...] = ()
    """Approved with the network, for these hosts."""


def bash(name: str, script: str, *, alone: bool = True) -> Attempt:
    return Attempt(name, script, alone)


def python(
    name: str, script: str, *, alone: bool = True, hosts: tuple[str, ...] = ()
) -> Attempt:
    return Attempt(name, f"py:{script}", alone, hosts)


READING = (
    bash("read a file beside the project", "cat {outside}/canary && echo ESCAPED"),
    bash("read it through a link in the project", "ln -s {outside}/canary l; cat l && echo ESCAPED"),
    bash("read it through a hard link", "ln {outside}/canary h && cat h && echo ESCAPED"),
    bash("read it through /proc/self/root", "cat /proc/self/root{outside}/canary && echo ESCAPED"),
    bash("list the folder beside the project", "ls {outside} | grep canary && echo ESCAPED"),
    bash("read a file in the home", "cat {home}/{canary} && echo ESCAPED"),
    bash("list the home", "ls -a {home} | grep -F {canary} && echo ESCAPED"),
    bash("read the data directory", "cat {data}/secret && echo ESCAPED"),
    bash(
        "read it through other processes' roots",
        "for p in /proc/[0-9]*; do cat $p/root{data}/secret; done | grep secret && echo ESCAPED",
    ),
    bash(
        "read it through other processes' files",
        "for f in /proc/[0-9]*/fd/*; do [ -f $f ] && head -c 99 $f; done | grep 'a secret'"
        " && echo ESCAPED",
    ),
    python(
        "use a descriptor that leaked",
        "own = [0, 1, 2, 3]\n"
        "for n in os.listdir('/proc/self/fd'):\n"
        "    if int(n) not in own and os.path.exists(f'/proc/self/fd/{{n}}'):\n"
        "        print('ESCAPED', n, os.readlink(f'/proc/self/fd/{{n}}'))",
    ),
    bash("read the server's environment", "cat /proc/{server}/environ && echo ESCAPED"),
    bash("read the environment of process 1", "cat /proc/1/environ && echo ESCAPED"),
    bash("read the guard's environment", "cat /proc/$PPID/environ && echo ESCAPED"),
    bash("read the passwords of the machine", "head -1 /etc/shadow && echo ESCAPED"),
    bash("see what the server runs", "grep -a . /proc/{server}/cmdline && echo ESCAPED", alone=False),
    bash("read the memory of the machine", "head -c1 /dev/mem || head -c1 /proc/kcore && echo ESCAPED"),
    bash("read a disk", "for d in /dev/[svx]d[a-z] /dev/nvme*; do head -c1 $d && echo ESCAPED; done"),
    python("read the kernel's log", "if call('syslog', 3, ctypes.create_string_buffer(9), 9) >= 0: print('ESCAPED')"),
)  # fmt: skip
WRITING = (
    bash("make a file beside the project", "echo x > {outside}/made"),
    bash("change a file through a link", "ln -s {outside}/canary w; echo changed > w"),
    bash("cut a file short", "truncate -s 0 {outside}/canary; perl -e 'truncate q({outside}/canary), 0'"),
    bash("move a file away", "mv {outside}/canary here && echo ESCAPED"),
    bash("delete a file", "rm -f {outside}/canary"),
    bash("make a file in the home", "echo x > {home}/{canary}-made"),
    bash("make a file in /etc", "echo x > /etc/{canary} && echo ESCAPED"),
    bash("change a program of the system", "echo >> /usr/bin/env && echo ESCAPED"),
    bash("make a file in the data directory", "echo x > {data}/made"),
    bash("move the project", "mv {root} {root}-moved && echo ESCAPED"),
    bash("make a file in everybody's /tmp", "echo x > /tmp/{canary}"),
    bash("make a file in everybody's memory", "echo x > /dev/shm/{canary}"),
    bash("make a device", "mknod disk b 8 0 && head -c1 disk && echo ESCAPED"),
    bash(
        "fill the disk with temporary files",
        "[ $(df --output=size -k ${{TMPDIR:-/tmp}} | tail -1) -gt {quota} ] && echo ESCAPED",
        alone=False,
    ),
)
GIT = (
    bash("move .git away", "mv .git old && mkdir -p .git/hooks && echo ESCAPED", alone=False),
    bash("write a hook", "echo x > .git/hooks/post-checkout && echo ESCAPED", alone=False),
    bash("move a hook into place", "echo x > a; mv a .git/hooks/post-merge && echo ESCAPED", alone=False),
    bash("link a hook into place", "echo x > b; ln b .git/hooks/pre-push && echo ESCAPED", alone=False),
    bash("put a link in place of the hooks", "rm -rf .git/hooks; ln -s $PWD .git/hooks && echo ESCAPED", alone=False),
    bash("write git's configuration", "echo '[core]' >> .git/config && echo ESCAPED", alone=False),
    bash("move a configuration into place", "cp .git/config c; mv c .git/config && echo ESCAPED", alone=False),
    bash("have git write it", "git config core.hooksPath $PWD && echo ESCAPED", alone=False),
    bash("write the configuration of a submodule", "echo x >> .git/modules/sub/config && echo ESCAPED", alone=False),
    bash("write a hook of a submodule", "echo x > .git/modules/sub/hooks/h && echo ESCAPED", alone=False),
    bash("lead git to another configuration", "mkdir -p evil; echo $PWD/evil > .git/commondir"),
)  # fmt: skip
PROCESSES = (
    bash("send the server a signal", "kill -0 {server} && echo ESCAPED"),
    bash("send another process a signal", "kill {victim} && echo ESCAPED"),
    bash("end the guard", "kill -9 $PPID && echo ESCAPED"),
    python("trace another process", "if call('ptrace', 16, {server}, 0, 0) >= 0 or call('ptrace', 16, os.getppid(), 0, 0) >= 0: print('ESCAPED')"),
    python("be traced", "if call('ptrace', 0, 0, 0, 0) >= 0: print('ESCAPED')"),
    bash("write the server's memory", "(exec 9<>/proc/{server}/mem) && echo ESCAPED"),
    bash("write the guard's memory", "(exec 9<>/proc/$PPID/mem) && echo ESCAPED"),
    python("read another process's memory", "if call('process_vm_readv', {server}, None, 0, None, 0, 0) >= 0: print('ESCAPED')"),
    python("take a descriptor of another process", "p = os.pidfd_open({server}) if os.path.exists('/proc/{server}') else -1\nif call('pidfd_getfd', p, 1, 0) >= 0: print('ESCAPED')"),
    python("limit another process", "resource.prlimit({server}, resource.RLIMIT_NOFILE)\nprint('ESCAPED')"),
    bash("outlive the command", "setsid nohup bash -c 'trap \"\" TERM HUP; sleep {mark}' >/dev/null 2>&1 & sleep 0.1"),
    bash("flood the machine with processes", "for i in $(seq 6000); do sleep {mark} & done; wait; echo ESCAPED"),
    python("share memory with other processes", "libc.shmget.restype = ctypes.c_int\nif libc.shmget({key}, 16, 0) >= 0: print('ESCAPED')"),
    bash("dump itself to the disk", "[ $(ulimit -c) = 0 ] || echo ESCAPED"),
)  # fmt: skip
KERNEL = (
    python("mount a file system", "if call('mount', b'x', b'/tmp', b'tmpfs', 0, 0) >= 0: print('ESCAPED')"),
    python("mount in the new way", "if call('fsopen', b'tmpfs', 0) >= 0: print('ESCAPED')"),
    python("unmount what hides", "if call('umount2', b'/proc/sys', 2) >= 0 or call('umount2', b'{data}', 2) >= 0: print('ESCAPED')"),
    python("make a namespace of users", "if call('unshare', 0x10000000) >= 0: print('ESCAPED')"),
    python("make one with a new process", "p = call('clone', 0x10000000 | 17, 0, 0, 0, 0)\nif p == 0: os._exit(0)\nif p > 0: print('ESCAPED')"),
    python("make one in the new way", "b = struct.pack('=11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)\np = call('clone3', ctypes.create_string_buffer(b, 88), 88)\nif p == 0: os._exit(0)\nif p > 0: print('ESCAPED')"),
    python("enter a namespace", "fd = os.open('/proc/1/ns/mnt', os.O_RDONLY)\nif call('setns', fd, 0) >= 0: print('ESCAPED')"),
    python("change the root", "if call('chroot', b'.') >= 0: print('ESCAPED')"),
    python("open a file by its number", "fd = os.open('.', os.O_RDONLY)\nh = ctypes.create_string_buffer(struct.pack('=IiII', 8, 1, 2, 0) , 16)\nif call('open_by_handle_at', fd, h, 0) >= 0: print('ESCAPED')"),
    python("load a program into the kernel", "if call('bpf', 0, ctypes.create_string_buffer(72), 72) >= 0: print('ESCAPED')"),
    python("use io_uring", "if call('io_uring_setup', 1, ctypes.create_string_buffer(120)) >= 0: print('ESCAPED')"),
    python("use the kernel's keys", "if call('keyctl', 0, -3, 1) >= 0 or call('add_key', b'user', b'x', b'y', 1, -2) >= 0: print('ESCAPED')"),
    python("watch the kernel's events", "if call('perf_event_open', ctypes.create_string_buffer(128), 0, -1, -1, 0) >= 0: print('ESCAPED')"),
    python("set the clock", "if call('clock_settime', 0, ctypes.create_string_buffer(16)) >= 0: print('ESCAPED')"),
    python("put input into a terminal", "m, s = os.openpty()\nimport fcntl\nfcntl.ioctl(s, 0x5412, b'x')\nprint('ESCAPED')"),
    python("call under other numbers", "if libc.syscall(0x40000000 | 39) >= 0 and os.uname().machine == 'x86_64': print('ESCAPED')"),
    bash("have the kernel run a program", "echo '|/bin/true' > /proc/sys/kernel/core_pattern && echo ESCAPED"),
    bash("change any setting of the kernel", "for f in $(find /proc/sys -type f -perm -200); do (: >> $f) && echo ESCAPED $f && break; done"),
    bash("press the system's keys", "(exec 9> /proc/sysrq-trigger) && echo ESCAPED"),
    bash("use the release of a control group", "for f in $(find /sys -name release_agent -o -name notify_on_release); do (exec 9>> $f) && echo ESCAPED; done"),
)  # fmt: skip
RIGHTS = (
    bash("be root", "[ $(id -u) = 0 ] && echo ESCAPED"),
    python("become root", "os.setuid(0)\nprint('ESCAPED')"),
    bash("become root by a program of root's", "[ \"$(./root-id -u)\" = 0 ] && echo ESCAPED"),
    bash("have capabilities", "grep -E 'Cap(Inh|Prm|Eff|Amb):' /proc/self/status | grep -v 0000000000000000 && echo ESCAPED"),
    bash("gain rights by a program", "grep -P 'NoNewPrivs:\\t0' /proc/self/status && echo ESCAPED"),
    bash("be in another's groups", "id -G | tr ' ' '\\n' | grep -vxE \"$(id -g)|65534\" && echo ESCAPED"),
)  # fmt: skip
NETWORK = (
    python("reach a server of this machine", "socket.create_connection(('127.0.0.1', {port}), 2)\nprint('ESCAPED')"),
    python("reach it over IPv6", "socket.create_connection(('::1', {port}), 2)\nprint('ESCAPED')"),
    python("send a datagram", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.sendto(b'x', ('127.0.0.1', {udp}))", alone=True),
    python("reach the metadata of a cloud", "try:\n    socket.create_connection(('169.254.169.254', 80), 2)\n    print('ESCAPED')\nexcept TimeoutError: print('ESCAPED')"),
    python("reach the public network", "try:\n    socket.create_connection(('192.0.2.1', 80), 2)\n    print('ESCAPED')\nexcept TimeoutError: print('ESCAPED')"),
    python("reach a Unix socket", "s = socket.socket(socket.AF_UNIX)\ns.connect('{outside}/socket')\nprint('ESCAPED')"),
    python("reach an abstract one", "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0{canary}')\nprint('ESCAPED')"),
    python("reach any service's socket", "import glob\nfor f in glob.glob('/run/**', recursive=True) + glob.glob('/var/run/**', recursive=True):\n    try:\n        s = socket.socket(socket.AF_UNIX)\n        s.connect(f)\n        print('ESCAPED', f)\n    except OSError: pass"),
    python("use other kinds of sockets", "for family in (17, 38, 40, 44):\n    try:\n        socket.socket(family, socket.SOCK_DGRAM if family != 38 else socket.SOCK_SEQPACKET)\n        print('ESCAPED', family)\n    except OSError: pass\ntry:\n    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\n    print('ESCAPED')\nexcept OSError: pass"),
)  # fmt: skip
ASK = (
    "s = socket.create_connection(('127.0.0.1', 3128), 5)\n"
    "s.sendall(b'CONNECT {asked} HTTP/1.1\\r\\n\\r\\n')\n"
    "if b' 200 ' in s.recv(99): print('ESCAPED')"
)


def through(name: str, asked: str, *hosts: str) -> Attempt:
    return python(name, ASK.replace("{asked}", asked), hosts=hosts, alone=False)


FILTER = (
    through("reach this machine through the filter", "127.0.0.1:{port}", "*"),
    through("… by its name", "localhost:{port}", "*"),
    through("… by its name, which was approved", "localhost:{port}", "localhost"),
    through("… in IPv6", "[::1]:{port}", "*"),
    through("… in IPv6 that means IPv4", "[::ffff:127.0.0.1]:{port}", "*"),
    through("… as a number", "2130706433:{port}", "*"),
    through("reach metadata through the filter", "169.254.169.254:80", "*"),
    through("reach a neighbour through the filter", "192.168.0.1:80", "*"),
    through("reach a host that was not approved", "example.org:443", "pypi.org"),
)
GROUPS = (
    (True, READING),
    (False, WRITING),
    (False, GIT),
    (False, PROCESSES),
    (True, KERNEL),
    (True, RIGHTS),
    (True, NETWORK),
    (False, FILTER),
)
"""Whether they can be tried together in one command, and the attempts."""
