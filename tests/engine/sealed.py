"""A pipeline whose files may be sealed with a password, as PDFs may be."""

import os
import time
from pathlib import Path

import fanfold as ff


def seal(path: Path, password: str, text: str) -> Path:
    """A file that opens with this password only."""
    path.write_text(f"SEALED:{hash_of(password)}:{text}")
    return path


def hash_of(password: str) -> str:
    """Enough for a test: the password itself must not be in the file."""
    return "".join(f"{ord(letter) ^ 1:x}" for letter in password)


def unseal(path: Path, password: str, target: Path, *, name: str) -> None:
    """Write what is in it."""
    text = path.read_text()
    if text == "slow":
        time.sleep(60)
    if text == "deadly":
        os._exit(3)
    if text == "odd":
        raise RuntimeError(f"it did not like {password}")
    if text == "nothing":
        return
    if text.startswith("SEALED:"):
        mark, text = text.removeprefix("SEALED:").split(":", 1)
        if mark != hash_of(password):
            raise ff.Permanent(f"This password does not open {name}. Check it and try again.", code="wrong_password")
    target.write_text(text)


sealed = ff.Pipeline(
    "sealed",
    options=[
        ff.Option("times", "number", "How often.", 1, at_least=1, at_most=9),
        ff.Option("password", "secret", "Opens it.", apply=unseal, helps=("encrypted",)),
    ],
    accepts=(".txt",),
)


@sealed.split
def lines(task: ff.TaskWork) -> list[str]:
    """One item per line."""
    text = task.input.read_text()
    if text.startswith("SEALED:"):
        raise ff.Permanent(f"{task.input.name} is sealed. It needs its password.", code="encrypted")
    return [str(line) for line in text.split() * int(task.options.get("times", 1))]


@sealed.each
def shout(item: ff.ItemWork) -> str:
    """A line, louder."""
    if item.input == "bad":
        raise ff.Permanent("no")
    return str(item.input).upper()


@sealed.merge
def joined(task: ff.TaskWork, results: ff.Results) -> str:
    """All lines."""
    return " ".join(str(result.output) for result in results)
