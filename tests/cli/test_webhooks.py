"""Webhooks from the command line."""

from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell


def test_a_webhook_is_added_listed_tested_and_removed(sqlite_shell: Shell) -> None:
    shell = sqlite_shell
    assert shell.ok("webhooks", "add", "ops", "https://example.com/hook", "--on", "failed") == "Added ops: failed\n"
    assert "https://example.com/hook" in shell.ok("webhooks")
    task = shell.ok("webhooks", "test", "ops").strip().splitlines()[0]
    assert shell.json("show", task)["pipeline"] == "webhooks"
    assert task not in shell.ok("tasks"), "deliveries are left out of the list, unless one asks for them"
    assert task in shell.ok("tasks", "--deliveries")
    assert task in shell.ok("tasks", "--pipeline", "webhooks")
    assert shell.json("webhooks", "list")[0]["events"] == ["failed"]
    assert shell.ok("webhooks", "remove", "ops") == "Removed ops\n"
    assert "no webhook ops" in shell.fails(Exit.NOT_FOUND, "webhooks", "test", "ops")
    assert "Events are" in shell.fails(Exit.BAD_INPUT, "webhooks", "add", "x", "https://x.org", "--on", "never")
    assert shell.json("submit", "demo", "--notify", "https://example.com/mine")["state"] == "active"
