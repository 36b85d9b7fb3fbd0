"""Exit codes of the commands, with names and meanings."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit code of a command; the meanings are in ``MEANINGS``."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    ILLEGAL_MOVE = 4
    BAD_INPUT = 5
    DATABASE = 6
    PARTIAL = 7
    TIMEOUT = 8
    WAITING = 9
    UNHEALTHY = 10
    OUTDATED = 11
    SHORTAGE = 12
    UNEXPECTED = 70
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "The command did what was asked.",
    Exit.FAILED: "The task failed or was cancelled and has no result, or a form or an action of its application failed.",
    Exit.USAGE: "The command line was not understood; nothing was done.",
    Exit.NOT_FOUND: "There is no such task, item, pipeline or file, or a shortened id matches several tasks.",
    Exit.ILLEGAL_MOVE: "The task's state does not allow the command, or its key belongs to other work; nothing was changed.",
    Exit.BAD_INPUT: "An option, file, pipeline or value cannot be used, or credits are missing; nothing was changed.",
    Exit.DATABASE: "The database or the data folder cannot be used.",
    Exit.PARTIAL: "The result is incomplete: some items failed, so the task may have stopped before its result, or some "
    "are degraded. Retry them, merge without them, or accept the degraded ones.",
    Exit.TIMEOUT: "The timeout passed; the task keeps running.",
    Exit.WAITING: "The task is paused, waits at a gate, or has only items left that wait for a person.",
    Exit.UNHEALTHY: "doctor found a problem.",
    Exit.OUTDATED: "The database was upgraded and now needs a newer Fanfold; running work was finished or handed back.",
    Exit.SHORTAGE: "The machine is out of file handles, disk space or room for temporary files.",
    Exit.UNEXPECTED: "An unexpected error; -v shows where.",
    Exit.INTERRUPTED: "Stopped by Ctrl-C or SIGTERM; running work was handed back.",
}

BY_CODE = {
    "not_found": Exit.NOT_FOUND,
    "ambiguous": Exit.NOT_FOUND,
    "no_output": Exit.NOT_FOUND,
    "no_form": Exit.NOT_FOUND,
    "unknown_pipeline": Exit.NOT_FOUND,
    "no_action": Exit.NOT_FOUND,
    "form_failed": Exit.FAILED,
    "action_failed": Exit.FAILED,
    "illegal_move": Exit.ILLEGAL_MOVE,
    "key_reused": Exit.ILLEGAL_MOVE,
    "not_enough_credits": Exit.BAD_INPUT,
    "timeout": Exit.TIMEOUT,
    "outdated": Exit.OUTDATED,
}
"""Exit codes by error code, for errors whose class alone does not determine it."""

BY_STATE = {
    "active": Exit.WAITING,
    "completed": Exit.OK,
    "partial": Exit.PARTIAL,
    "paused": Exit.WAITING,
    "waiting": Exit.WAITING,
    "failed": Exit.FAILED,
    "cancelled": Exit.FAILED,
}
"""Exit codes by final task state, for commands that wait for a task; active means that only held items are left."""
