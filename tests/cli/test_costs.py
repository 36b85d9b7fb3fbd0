"""Costs and prices are shown at the terminal, over HTTP and in the page."""

import csv
import io

import pytest

from tests.ai_protocol import Reply
from tests.ai_server import AIServer
from tests.cli.shell import Shell


def test_the_books_are_printed_as_a_table_as_csv_and_as_json(shell: Shell, ai: AIServer) -> None:
    ai.answer(Reply(text="yes", output_tokens=0, cached_tokens=300))
    task = shell.submit("asks", "a", "b", "--owner", "ann")
    shell.tick("asks")
    assert "$2.00" in shell.ok("costs")
    assert task in shell.ok("costs")
    found = shell.json("costs", "--by", "owner")
    assert [(row["name"], row["cost"], row["cached_tokens"]) for row in found["rows"]] == [("ann", 2.0, 600)]
    assert found["total"]["calls"] == 2
    [row] = csv.DictReader(io.StringIO(shell.ok("costs", "--by", "model", "--csv")))
    assert (row["name"], row["calls"], float(row["cost"])) == ("fake:fake-large", "2", 2.0)
    assert shell.json("costs", "--since", "2999-01-01")["rows"] == []
    assert "not a day or a time" in shell.fails(5, "costs", "--since", "soon")


def test_providers_tell_their_price_and_its_source(sqlite_shell: Shell, ai: AIServer) -> None:
    known = {one["name"]: one for one in sqlite_shell.json("providers")}
    assert (known["fake"]["price_input"], known["fake"]["price_source"]) == (1000.0, "settings")
    assert known["openai"]["price_source"].startswith("genai-prices ")
    assert known["openai"]["price_input"] == pytest.approx(0.75)
    assert known["openai"]["price_source"].rpartition(", ")[2] > "2025-01-01", "the list has a date"
    assert known["ollama"]["price"] == "unknown"
    assert "$1000 in, $1000 out" in sqlite_shell.ok("providers")
