"""Processes of a carrier, which may end at any moment: found, and killed."""

from __future__ import annotations

import psutil


def process_of(pid: int) -> psutil.Process | None:
    """The process, unless it has ended."""
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def family_of(process: psutil.Process) -> list[psutil.Process]:
    """Its children and theirs; none if it has ended."""
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def has_killed(process: psutil.Process) -> bool:
    """kill -9; False if it had ended before."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def is_spawned(process: psutil.Process) -> bool:
    """Whether it is a child of Fanfold, and not a process of the operating system that has just ended."""
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:
        return False
