"""Measures the machine's memory and that of processes.

The parent watches the memory of its children instead of setting a system limit: decision 55 (docs/decisions).
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from fanfold.model.text.sentences import say

GIGABYTE = 1_000_000_000
SHARE = 0.25
"""Default share of the machine's memory that one child process may use, at least 1 GB."""
TOGETHER = 0.75
"""Share that all child processes of a worker may use together."""
V1_ROOT, V2_ROOT = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@cache
def machine_bytes() -> int | None:
    """The memory of this machine, or the limit of this process's control group if lower; None if unknown."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    return min([physical, *group_limits(Path("/proc/self/cgroup"), V2_ROOT, V1_ROOT)])


def group_limits(groups: Path, v2_root: Path, v1_root: Path) -> list[int]:
    """The memory limits of the control groups that the file names, and of their parents."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers == "":
            found += _limits(v2_root, place, "memory.max")
        elif "memory" in controllers.split(","):
            found += _limits(v1_root, place, "memory.limit_in_bytes")
    return found


def _limits(root: Path, place: str, name: str) -> list[int]:
    """The limits from one group up to the root. In a container the path may be the host's, so the root is always read."""
    folder = root / place.lstrip("/")
    limits = []
    for group in dict.fromkeys((folder, *folder.parents, root)):
        if group != root and root not in group.parents:
            continue
        try:
            text = (group / name).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            limits.append(int(text))
    return limits


def resident_bytes(pid: int) -> int:
    """A process's own memory, without pages shared with files and other processes; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_bytes().split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


class Allowance:
    """How much memory the child processes of one worker may use: each, and all together."""

    def __init__(self, each: int = 0, machine: int | None = None) -> None:
        machine = machine or machine_bytes()
        self.together = None if machine is None else int(machine * TOGETHER)
        share = None if machine is None else min(machine, max(GIGABYTE, int(machine * SHARE)))
        self.each = each or share
        self._taken: dict[int, int] = {}

    def note(self, pid: int) -> str | None:
        """Record a process's current memory; returns why it must end, if it must."""
        taken = self._taken[pid] = resident_bytes(pid)
        if self.each is not None and taken > self.each:
            return say("child_over_limit", limit=in_words(self.each), wanted=2 * self.each)
        everyone = list(self._taken.values())
        if self.together is not None and sum(everyone) > self.together and taken == max(everyone):
            return say("children_over_limit", limit=in_words(self.together), taken=in_words(taken))
        return None

    def forget(self, pid: int) -> None:
        """Remove a process that is gone."""
        self._taken.pop(pid, None)


def in_words(count: int) -> str:
    """Bytes for people."""
    return f"{count / GIGABYTE:.1f} GB" if count >= GIGABYTE else f"{count / 1e6:.0f} MB"
