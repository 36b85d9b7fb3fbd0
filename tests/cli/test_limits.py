"""`fanfold limits` lists the rate limits of all workers, and opens and closes them."""

from fanfold.engine.client import Client
from fanfold.model.money.rate_limits import Dimension
from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell

KEY = "fake:large"


def test_limits_are_listed_closed_and_opened(shell: Shell, client: Client) -> None:
    assert shell.json("limits") == []
    with client.store.write() as tx:
        tx.rate_limits.declare(KEY, {Dimension.REQUESTS: 60}, 4)
    listed = shell.ok("limits")
    assert KEY in listed
    assert "configured" in listed
    [closed, _] = shell.json("limits", "close", KEY, "--minutes", "5")
    assert closed["closed_by"] == "person"
    assert "(person)" in shell.ok("limits")
    [opened, _] = shell.json("limits", "open", KEY)
    assert opened["closed_until"] is None


def test_a_limit_that_is_not_there_is_told_with_those_that_are(shell: Shell, client: Client) -> None:
    with client.store.write() as tx:
        tx.rate_limits.declare(KEY, {}, 4)
    assert KEY in shell.fails(Exit.NOT_FOUND, "limits", "open", "fake:small")
