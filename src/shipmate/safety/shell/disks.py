"""Programs that write disks as a whole."""

import re
from collections.abc import Iterator

from shipmate.safety.shell import places
from shipmate.safety.shell.call import Call, Judge
from shipmate.safety.shell.risk import HIDDEN, Finding, ask, block, danger

DRIVE = re.compile(r"[a-z]:[\\/]?", re.I)


def judge_dd(call: Call) -> Iterator[Finding]:
    """A raw copy (`dd if=`) is blocked, whatever it copies (readings 16)."""
    yield ask("program", "Copies blocks.")
    for word in call.args:
        if word.startswith("if="):
            yield block("dd", "dd if= makes a raw copy.")
        if word.startswith("of="):
            yield danger("dd", "dd of= overwrites raw.")
            yield places.write(word[3:], call.scope)
        if HIDDEN in word.partition("=")[0]:
            yield danger("dd", "What dd copies is not visible.")


def judge_format(call: Call) -> Iterator[Finding]:
    """`format` of a drive; in bash too, where it may be called through a Windows system."""
    yield ask("program", "A program named format.")
    if any(DRIVE.fullmatch(word) for word in call.args):
        yield block("format", "Formats a drive.")


def judge_make_filesystem(call: Call) -> Iterator[Finding]:
    yield danger("mkfs", "Makes a file system, which deletes what was there.")
    if any(word.startswith("/dev/") for word in call.args):
        yield block("mkfs", "Makes a file system on a device.")


def judge_partition(call: Call) -> Iterator[Finding]:
    """Partition tables and signatures: blocked where a device would be changed."""
    if call.has("lV", ("list", "version", "help")) and not call.has("a", ("all",)):
        yield ask("program", "Shows disks.")
        return
    yield danger("disk", "Changes disks.")
    device = any(places.DISKS.match(places.resolve(w, ".")) for w in call.args)
    if device and call.name in {"wipefs", "blkdiscard", "sgdisk", "sfdisk", "badblocks", "hdparm"}:
        yield block("disk", "Destroys what is on a disk.")


def judge_diskutil(call: Call) -> Iterator[Finding]:
    yield ask("program", "Manages disks.")
    if re.search(r"erase|zero|partition|secure", " ".join(call.args[:2]), re.I):
        yield block("disk", "Erases a disk.")


JUDGES: dict[str, Judge] = {
    "dd": judge_dd,
    "dcfldd": judge_dd,
    "format": judge_format,
    **dict.fromkeys(
        ("mkfs", "mke2fs", "mkntfs", "mkdosfs", "mkswap", "newfs", "mkudffs"),
        judge_make_filesystem,
    ),
    **dict.fromkeys(
        ("wipefs", "blkdiscard", "sgdisk", "sfdisk", "fdisk", "cfdisk", "gdisk", "parted",
         "badblocks", "hdparm", "nvme", "cryptsetup", "lvremove", "vgremove", "pvremove", "zpool",
         "zfs", "mdadm", "tune2fs", "fsck", "losetup", "debugfs", "partprobe"),
        judge_partition,
    ),
    "diskutil": judge_diskutil,
}  # fmt: skip


def named(name: str) -> Judge | None:
    """`mkfs.ext4` and its like."""
    return judge_make_filesystem if re.match(r"mkfs\.|newfs_", name) else None
