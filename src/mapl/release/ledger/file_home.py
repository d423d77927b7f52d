"""Which file a ledger is: what stays with it for as long as it is where it was made, and what a copy does not have.

The number of an inode alone is no identity: the first files of two fresh volumes have the same one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

ATTRIBUTE = "user.mapl.home"
"""The extended attribute that holds a ledger's nonce; cp, rsync and tar leave it behind unless they are asked."""

UNSUPPORTED = (errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS)
MISSING = "none"
WRITTEN = re.compile(r"file (\d+)(?:, born ([\d.]+))?(?:, nonce (\w+))?(?:, volume (\w+))?")

LASTING_IDS = ("ext2", "ext3", "ext4", "btrfs")
"""File systems whose number (statvfs) comes from their UUID; others number by device, which a reboot changes."""

_HERE, _MASK, _BIRTH_TIME, _SIZE, _PLACE = -100, 0x100 | 0x800, 0x800, 256, 80


@dataclass(frozen=True, slots=True)
class FileHome:
    """What is known of a file; a part that the system does not tell is None and is not compared.

    ``inode`` is its number, ``born`` when it was made (nobody can set that, and a copy is made later), ``nonce`` a
    random word in an attribute of the file, ``volume`` the number of its file system where that lasts.
    """

    inode: int
    born: str | None = None
    nonce: str | None = None
    volume: str | None = None

    @classmethod
    def of(cls, path: Path) -> Self:
        """Look at a file without opening it: closing it again would take away SQLite's locks."""
        found = os.stat(path)
        return cls(found.st_ino, _born(path, found), _nonce(path), _volume(path, found.st_dev))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Read what `str` writes; None for anything else."""
        found = WRITTEN.fullmatch(text)
        return None if found is None else cls(int(found[1]), *found.groups()[1:])

    def same_as(self, other: FileHome) -> bool:
        """Say whether nothing that both know tells the two apart."""
        pairs = ((self.born, other.born), (self.nonce, other.nonce), (self.volume, other.volume))
        return self.inode == other.inode and all(one == two for one, two in pairs if one and two)

    def __str__(self) -> str:
        parts = {"born": self.born, "nonce": self.nonce, "volume": self.volume}
        return ", ".join([f"file {self.inode}", *(f"{name} {part}" for name, part in parts.items() if part)])


def settle(path: Path) -> FileHome:
    """Make a file the home of its ledger: give it a new nonce, where its file system keeps one."""
    with suppress(OSError, AttributeError):
        os.setxattr(path, ATTRIBUTE, secrets.token_hex(16).encode())
    return FileHome.of(path)


def _nonce(path: Path) -> str | None:
    try:
        return os.getxattr(path, ATTRIBUTE).decode("ascii", "replace")
    except OSError as failure:
        return None if failure.errno in UNSUPPORTED else MISSING
    except AttributeError:  # not on Linux
        return None


def _born(path: Path, found: os.stat_result) -> str | None:
    """Return when a file was made, to the nanosecond where the file system keeps them."""
    if sys.platform != "linux":
        born = getattr(found, "st_birthtime", None)
        return None if born is None else f"{born:.9f}"
    statx = _statx()
    told = ctypes.create_string_buffer(_SIZE)
    if statx is None or statx(_HERE, os.fsencode(path), 0, _MASK, told) != 0:
        return None
    (mask,) = struct.unpack_from("=I", told)
    seconds, nanoseconds = struct.unpack_from("=qI", told, _PLACE)
    return f"{seconds}.{nanoseconds:09d}" if mask & _BIRTH_TIME else None


@lru_cache(maxsize=1)
def _statx() -> ctypes._NamedFuncPointer | None:
    """Return the call that tells a file's birth, which Python's own `os.stat` leaves out on Linux."""
    try:
        statx = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None
    statx.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p)
    return statx


@lru_cache(maxsize=64)
def _volume(path: Path, device: int) -> str | None:
    """Return the lasting number of the file system that a device is mounted as."""
    try:
        mounted = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        number = os.statvfs(path).f_fsid
    except (OSError, AttributeError):
        return None
    name = f"{os.major(device)}:{os.minor(device)}"
    kinds = {line.partition(" - ")[2].partition(" ")[0] for line in mounted.splitlines() if line.split()[2] == name}
    return f"{number & (2**64 - 1):x}" if number and kinds and kinds <= {*LASTING_IDS} else None
