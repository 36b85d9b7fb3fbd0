"""The cost of a task is estimated before it starts, at the terminal and over HTTP."""

from pathlib import Path

import pytest

from fanfold.apps.pdf.sample import SAMPLE
from tests.ai_protocol import Reply
from tests.ai_server import AIServer
from tests.cli.shell import SAMPLES, Shell

DOLLAR = Reply(text="A whole page of text that says what it says.", output_tokens=0)


def test_a_sample_is_processed_and_run_goes_on_from_it(shell: Shell, ai: AIServer) -> None:
    ai.answer(DOLLAR)
    words = (f"{SAMPLES}:asks", *"abcdefghij")
    before = shell.type("estimate", *words)
    assert "unknown" in before.stdout
    assert "--sample 3" in before.stderr
    told = shell.type("estimate", *words, "--sample", "2")
    assert "$10.00" in told.stdout
    assert "part of this" in told.stderr
    sampled = len(ai.paid)
    assert sampled in (2, 3)
    shell.ok("run", *words)
    assert len(ai.paid) == 10, "the sample was not paid for twice"
    found = shell.json("estimate", f"{SAMPLES}:asks", "k", "l")
    assert (found["lanes"][0]["expected"], found["calls"]) == (2.0, 2)


def test_convert_tells_what_it_would_cost_and_goes_on_from_a_sample(
    sqlite_shell: Shell, ai: AIServer, tmp_path: Path
) -> None:
    ai.answer(DOLLAR)
    book = tmp_path / "book.pdf"
    book.write_bytes(SAMPLE.read_bytes())
    shell = sqlite_shell
    free = shell.type("convert", str(book), "--estimate")
    assert "$0.00" in free.stdout
    assert "No model is asked." in free.stderr
    words = ("convert", str(book), "--provider", "fake", "--estimate")
    declared = shell.json(*words)
    assert declared["calls"] > 1
    assert declared["lanes"][0]["expected"] > 0
    assert ai.calls == []
    sampled = shell.json(*words, "--sample", "4")
    begun = dict(ai.paid_by_image)
    assert (sampled["sampled"], len(begun)) == (4, 4)
    shell.type("convert", str(book), "--provider", "fake", "-o", str(tmp_path / "book.md"))
    assert all(ai.paid_by_image[image] == count for image, count in begun.items()), "the sample was not paid for twice"
    assert sampled["lanes"][0]["expected"] == pytest.approx(len(ai.paid), rel=0.25)
