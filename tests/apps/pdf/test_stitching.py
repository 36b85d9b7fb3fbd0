"""What a page break split is joined, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.apps.pdf.output.stitching import join_pages

SENTENCE = "A long sentence that fills its line and then goes on"


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("It has been perfo-", "rated beforehand.", ("It has been perforated beforehand.", "")),
        ("So it was self-", "published.\n\nNext.", ("So it was self-published.", "Next.")),
        (SENTENCE, "over the page.\n\n# Next", (f"{SENTENCE} over the page.", "# Next")),
        ("这是一句很长的话，它在这一页的末尾还没有", "说完。", ("这是一句很长的话，它在这一页的末尾还没有说完。", "")),
        ("- An entry that goes", "on overleaf\n- Another", ("- An entry that goes on overleaf", "- Another")),
        (f"{SENTENCE}, said", "anna.", (f"{SENTENCE}, said anna.", "")),
        (f"{SENTENCE} to the", "Louvre again.", (f"{SENTENCE} to the Louvre again.", "")),
        ("# Title\n\nfirst line\nand the last one", "goes on", ("# Title\n\nfirst line\nand the last one goes on", "")),
    ],
)
def test_a_split_paragraph_or_word_is_joined(before: str, after: str, joined: tuple[str, str]) -> None:
    assert join_pages(before, after) == joined


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It ends.", "It begins."),
        ("It ends.”", "and so on"),
        (SENTENCE, "# Heading"),
        (SENTENCE, "Another begins."),
        (SENTENCE, "- an entry"),
        (SENTENCE, "1. an entry"),
        (SENTENCE, "| a | table |"),
        ("# Heading", "goes on"),
        ("| a | table |", "goes on"),
        ("```\ncode\n```", "goes on"),
        ("```\ncode", "goes on"),
        ("", "goes on"),
        (SENTENCE, ""),
        ("第一章", "开始了"),
    ],
)
def test_what_was_not_split_stays_apart(before: str, after: str) -> None:
    assert join_pages(before, after) == (before, after)


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_letter_is_lost_or_made_up(before: str, after: str) -> None:
    first, second = join_pages(before, after)
    kept = "".join(character for character in first + second if character.isalnum())
    assert kept == "".join(character for character in before + after if character.isalnum())
