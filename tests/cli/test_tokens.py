"""Tokens are created, listed and revoked, and their secret is shown once."""

import pytest

from fanfold.engine import tokens
from fanfold.engine.client import Client
from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell


def test_a_token_is_made_listed_and_revoked(shell: Shell, client: Client) -> None:
    secret = shell.ok("tokens", "create", "ann").strip()
    found = tokens.find(client.store, secret)
    assert found is not None
    assert (found.name, found.owner, found.role) == ("ann", "ann", "member")
    listed = shell.ok("tokens", "list")
    assert "ann" in listed
    assert secret not in listed
    assert shell.json("tokens", "list")[0]["role"] == "member"
    assert shell.ok("tokens", "revoke", "ann") == "Revoked ann\n"
    assert tokens.find(client.store, secret) is None
    assert "no token ann" in shell.fails(Exit.NOT_FOUND, "tokens", "revoke", "ann")


def test_a_token_is_for_one_owner_for_all_or_for_everything(sqlite_shell: Shell) -> None:
    assert sqlite_shell.json("tokens", "create", "a", "--owner", "team")["owner"] == "team"
    assert sqlite_shell.json("tokens", "create", "b", "--role", "viewer", "--owner", "*")["owner"] is None
    assert sqlite_shell.json("tokens", "create", "c", "--role", "admin", "--days", "7")["role"] == "admin"
    assert "never" in sqlite_shell.ok("tokens", "list")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["no spaces"], "cannot name a token"),
        (["x" * 101], "cannot name a token"),
        (["x", "--role", "admin", "--owner", "ann"], "An admin sees the tasks of all owners"),
    ],
)
def test_a_token_that_makes_no_sense_is_refused(sqlite_shell: Shell, words: list[str], why: str) -> None:
    assert why in sqlite_shell.fails(Exit.BAD_INPUT, "tokens", "create", *words)


def test_a_name_has_one_token(sqlite_shell: Shell) -> None:
    sqlite_shell.ok("tokens", "create", "ann")
    assert "fanfold tokens revoke ann" in sqlite_shell.fails(Exit.BAD_INPUT, "tokens", "create", "ann")
