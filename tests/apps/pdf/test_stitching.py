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


HEAD = "| Name | Count |\n|---|---|\n"


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        (f"{HEAD}| Alder | 12 |", f"{HEAD}| Birch | 7 |\n\nText.", (f"{HEAD}| Alder | 12 |\n| Birch | 7 |", "Text.")),
        (
            f"Text.\n\n{HEAD}| Alder | 12 |\n| Ash | 9 |",
            "| Birch | 7 |\n|---|---|\n| Cedar | 1,024 |",
            (f"Text.\n\n{HEAD}| Alder | 12 |\n| Ash | 9 |\n| Birch | 7 |\n| Cedar | 1,024 |", ""),
        ),
        (f"{HEAD}| a\\|b | 12 |", f"{HEAD}| Birch | 7 |", (f"{HEAD}| a\\|b | 12 |\n| Birch | 7 |", "")),
    ],
)
def test_a_table_that_continues_is_joined(before: str, after: str, joined: tuple[str, str]) -> None:
    assert join_pages(before, after) == joined


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Another header.
        (f"{HEAD}| Alder | 12 |\n| Ash | 9 |", "| Town | People |\n|---|---|\n| Oslo | 7 |"),
        # Another number of columns.
        (f"{HEAD}| Alder | 12 |\n| Ash | 9 |", "| a | 7 | 8 |\n|---|---|---|\n| b | 1 | 2 |"),
        # No column of figures tells rows from headers.
        ("| Name | Kind |\n|---|---|\n| a | b |\n| c | d |", "| e | f |\n|---|---|\n| g | h |"),
        (f"{HEAD}| Alder | 12 |\n| Ash | 9 |\n\nText.", "| Birch | 7 |\n|---|---|\n| Cedar | 1 |"),
        (f"{HEAD}| Alder | 12 |\n| Ash | 9 |", "Table 2\n\n| Birch | 7 |\n|---|---|\n| Cedar | 1 |"),
        ("| 1 | 2 |\n|---|---|\n| 3 | 4 |\n| 5 | 6 |", "| 7 | 8 |\n|---|---|\n| 9 | 10 |"),
    ],
)
def test_other_tables_stay_apart(before: str, after: str) -> None:
    assert join_pages(before, after) == (before, after)
