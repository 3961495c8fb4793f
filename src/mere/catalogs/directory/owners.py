"""Tell who writes, and whether they are alive."""

import os
import platform
import secrets
import sys
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

_PARTS = 4
_STARTED = 19
"""Where /proc tells when a process began, counted behind its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One writing of one process of one machine: `host` is told by its last start, too."""

    host: str
    pid: int
    started: str
    key: str

    def spell(self) -> str:
        """Spell it so that it may stand in the name of a file."""
        return f"{self.host}-{self.pid}-{self.started}-{self.key}"

    @property
    def is_dead(self) -> bool:
        """Tell whether its process has surely ended."""
        if self.host != _host() or sys.platform == "win32":
            return False
        return _started(self.pid) != self.started


def read_owner(text: str) -> Owner | None:
    """Read what `spell` wrote; None when it is something else."""
    parts = text.split("-")
    if len(parts) != _PARTS or not parts[1].isdecimal():
        return None
    return Owner(host=parts[0], pid=int(parts[1]), started=parts[2], key=parts[3])


def new_owner() -> Owner:
    """Return an owner of this process that no other call gets."""
    pid = os.getpid()
    return Owner(host=_host(), pid=pid, started=_started(pid), key=secrets.token_hex(4))


@cache
def _host() -> str:
    """Name this machine since it was started, and the room in which its processes are numbered."""
    told = [platform.node(), _text("/proc/sys/kernel/random/boot_id")]
    try:
        told.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        told.append("")
    return blake2b("\n".join(told).encode(), digest_size=6).hexdigest()


def _started(pid: int) -> str:
    """Return when a process began, as its machine counts; empty when there is none."""
    about = _text(f"/proc/{pid}/stat").rpartition(") ")[2].split()
    if len(about) > _STARTED:
        return "" if about[0] in "ZX" else about[_STARTED]
    if Path("/proc/self/stat").exists() or sys.platform == "win32":
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "x"
    return "x"


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
