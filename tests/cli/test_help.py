"""The help of the command line is complete, and fast."""

import os
import subprocess
import sys

import click
import pytest

from fanfold.cli import NAMES, cli
from fanfold.model.lifecycle import TaskState
from fanfold.running.terminal.exit_codes import BY_CODE, BY_STATE, MEANINGS, Exit
from tests.cli.shell import Shell


def test_help_lists_every_command_and_loads_no_database_code() -> None:
    code = "import sys; from fanfold.cli import cli; cli(['--help'], standalone_mode=False); print(sorted(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert all(f"  {name} " in printed for name in NAMES)
    assert "sqlalchemy" not in printed.splitlines()[-1]
    assert "'rich" not in printed.splitlines()[-1]


def test_help_is_fast() -> None:
    def once() -> float:
        """Processor time, which other tests running at the same time do not increase."""
        before = os.times()
        subprocess.run([sys.executable, "-m", "fanfold.cli", "--help"], capture_output=True, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert any(once() < 0.3 for _ in range(20)), "a busy machine slows down some of them, not all"


def test_a_short_command_collects_no_garbage_and_leaves_none_to_be_searched_at_its_end() -> None:
    code = """
import atexit, gc, sys
from fanfold.cli import main
begun = []
gc.callbacks.append(lambda phase, info: begun.append(phase))
atexit.register(lambda: print(len(begun), gc.get_freeze_count()))
sys.argv = ["fanfold", "convert", "--help"]
main()
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    collections, frozen = map(int, printed.splitlines()[-1].split())
    assert collections == 0
    assert frozen > 10_000


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_and_json(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help
    ends = command.commands.values() if isinstance(command, click.Group) else [command]
    for end in ends:
        options = {option for parameter in end.params for option in parameter.opts}
        assert {"--json", "--database", "--data", "--verbose"} <= options


def test_the_version_is_told(sqlite_shell: Shell) -> None:
    assert sqlite_shell.ok("--version").startswith("fanfold ")


def test_every_exit_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Exit)
    assert set(BY_STATE) == set(TaskState)
    assert set(BY_CODE.values()) <= set(Exit)
