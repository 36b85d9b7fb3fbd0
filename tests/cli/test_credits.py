"""Credits from the command line."""

from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell


def test_credits_are_granted_listed_charged_and_checked(sqlite_shell: Shell) -> None:
    shell = sqlite_shell
    for _ in range(2):
        assert shell.ok("credits", "grant", "ann", "10", "--key", "order-1", "--reason", "bought") == (
            "ann has 10 credits\n"
        )
    assert shell.ok("credits", "charge", "ann", "4") == "ann has 6 credits\n"
    assert "costs 7 credits, and ann has 6" in shell.fails(Exit.BAD_INPUT, "credits", "charge", "ann", "7")
    assert shell.json("credits", "list")[0]["balance"] == 6
    assert [one["amount"] for one in shell.json("credits", "entries", "ann")] == [-4, 10]
    assert "bought" in shell.ok("credits", "entries")
    assert "ann" in shell.ok("credits")
    assert shell.ok("credits", "check") == "Every balance is the sum of its entries.\n"
    task = shell.json("submit", "demo")["id"]
    assert "has cost no credits" in shell.fails(Exit.BAD_INPUT, "credits", "refund", task)
