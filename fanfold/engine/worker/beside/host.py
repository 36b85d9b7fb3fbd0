"""Identifies this machine and its processes, so that a dead worker of the same machine is detected at once."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
from functools import cache
from pathlib import Path


@cache
def this_machine() -> str:
    """The host's name with its boot id and process namespace: a process id is comparable only where both are equal."""
    marks = [platform.node()]
    for source in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        path = Path(source)
        try:
            marks.append(os.readlink(path) if path.is_symlink() else path.read_text().strip())
        except OSError:
            marks.append("")
    return f"{platform.node()} {hashlib.sha256('|'.join(marks).encode()).hexdigest()[:8]}"


def is_dead(host: str, pid: int) -> bool:
    """Whether a worker has certainly ended; False if that is unknown on this machine."""
    if host != this_machine() or not Path("/proc/self/ns/pid").exists():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def new_worker_id(name: str) -> str:
    """A random id for each start of a worker; an id is never reused."""
    return f"{name[:60]}-{secrets.token_hex(3)}"
