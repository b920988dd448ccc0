"""How the database keeps its journal, by where it lies.

The write-ahead log is shared memory between all who have the file open, which a network file system
does not give (sqlite.org/wal.html); a rollback journal needs nothing but locks and is slower.
"""

import re
from pathlib import Path
from typing import Literal, TypeAlias

Journal: TypeAlias = Literal["WAL", "DELETE"]

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\w*|9p|afs|ceph|glusterfs|lustre|davfs|fuse\.(sshfs|rclone|s3fs)"
)
ON_A_NETWORK = (
    "the database works there without its write-ahead log, slower and only as safely as that file "
    "system locks and syncs: better move it to a disk of this machine"
)


def journal_on(file_system: str) -> Journal:
    """By the kind of the file system, as the system calls it; what is not known is a disk."""
    return "DELETE" if _NETWORK.fullmatch(file_system) else "WAL"


def file_system_of(folder: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The kind of file system the folder lies on, where the system tells; else ''."""
    try:
        lines = mounts.read_text("utf-8", "replace").split("\n")
    except OSError:
        return ""
    found = ("", "")
    for place, kind in (line.split(" ")[1:3] for line in lines if line.count(" ") >= 3):
        path = place.replace("\\040", " ")
        if folder.is_relative_to(path) and len(path) >= len(found[0]):
            found = (path, kind)
    return found[1]


def network_file_system(folder: Path) -> str:
    """The kind of network file system that the folder lies on, or ''."""
    kind = file_system_of(folder)
    return kind if journal_on(kind) == "DELETE" else ""


def is_logged(database: Path) -> bool:
    """It says of itself that a write-ahead log belongs to it (sqlite.org/fileformat2.html). What
    cannot be read is none: SQLite tells why."""
    try:
        with database.open("rb") as file:
            return file.read(20)[18:20] == b"\x02\x02"
    except OSError:
        return False
