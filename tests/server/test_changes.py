"""A comparison shows what has changed, and nothing else."""

import random
import time

import pytest

from fanfold.server.web.item.diff import ADDED, FOLDED, MOST_CHARACTERS, REMOVED, SAME, WordDiff, changes

ENOUGH_SECONDS = 5.0


def compared(before: str, after: str) -> WordDiff:
    found = changes(before, after)
    assert found is not None
    return found


def told(before: str, after: str) -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in compared(before, after).pieces]


def both_sides(found: WordDiff) -> tuple[str, str]:
    """The two texts, put together from the pieces."""
    before = "".join(piece.text for piece in found.pieces if piece.kind != ADDED)
    return before, "".join(piece.text for piece in found.pieces if piece.kind != REMOVED)


def test_one_word_is_told_apart() -> None:
    assert told("the old house\n", "the new house\n") == [
        (SAME, "the "), (REMOVED, "old"), (ADDED, "new"), (SAME, " house\n"),
    ]  # fmt: skip


def test_chinese_is_compared_by_character() -> None:
    assert told("他在北京工作\n", "他在上海工作\n") == [
        (SAME, "他在"), (REMOVED, "北京"), (ADDED, "上海"), (SAME, "工作\n"),
    ]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), [("", ""), ("a\nb\n", "a\nb\n"), ("x" * 5000, "x" * 5000)])
def test_nothing_changed_is_said(before: str, after: str) -> None:
    assert not compared(before, after)


def test_everything_new_and_everything_gone() -> None:
    assert told("", "a\n") == [(ADDED, "a\n")]
    assert told("a\n", "") == [(REMOVED, "a\n")]


def test_lines_without_likeness_are_no_patchwork() -> None:
    assert told("alpha beta gamma\n", "one, two; three!\n") == [
        (REMOVED, "alpha beta gamma\n"), (ADDED, "one, two; three!\n"),
    ]  # fmt: skip


def test_long_unchanged_stretches_are_folded_with_lines_around_the_change() -> None:
    lines = [f"line {number}\n" for number in range(100)]
    changed = [*lines[:50], "something else\n", *lines[51:]]
    found = compared("".join(lines), "".join(changed))
    folded = [piece for piece in found.pieces if piece.kind == FOLDED]
    assert [piece.lines for piece in folded] == [47, 46]
    assert "line 49" not in folded[0].text
    assert "line 51\n" not in folded[1].text


def test_words_are_counted() -> None:
    found = compared("a b c\n", "a b c d e\n")
    assert (found.added, found.removed) == (2, 0)


@pytest.mark.parametrize("seed", range(20))
def test_the_pieces_make_up_both_texts(seed: int) -> None:
    generator = random.Random(seed)
    words = ["one", "two", "三", "  ", "\n", "\n\n", "|", "<b>", "x_y", "\r\n", "\t", "é"]
    before, after = ("".join(generator.choices(words, k=generator.randrange(200))) for _ in range(2))
    assert both_sides(compared(before, after)) == (before, after)


def test_texts_that_are_too_long_are_not_compared() -> None:
    assert changes("a", "b" * (MOST_CHARACTERS + 1)) is None


@pytest.mark.parametrize("unit", ["word {} ", "line {}\n", "{}", "字{}"])
def test_large_texts_take_a_bounded_time(unit: str) -> None:
    generator = random.Random(1)
    before, after = ("".join(unit.format(generator.random()) for _ in range(30_000))[:900_000] for _ in range(2))
    started = time.process_time()
    assert both_sides(compared(before, after)) == (before, after)
    assert time.process_time() - started < ENOUGH_SECONDS


def chinese(lines: int, length: int) -> tuple[str, str]:
    """Two texts with lines in which every third character differs, between equal lines."""
    generator = random.Random(1)
    before = [[chr(generator.randrange(0x4E00, 0x9000)) for _ in range(length)] for _ in range(lines)]
    after = [["字" if at % 3 == 0 else letter for at, letter in enumerate(line)] for line in before]
    old, new = ("".join(f"{''.join(line)}\n--- {n}\n" for n, line in enumerate(text)) for text in (before, after))
    return old, new


def test_many_changed_lines_share_one_budget() -> None:
    before, after = chinese(100, 4_900)
    started = time.process_time()
    found = compared(before, after)
    assert time.process_time() - started < ENOUGH_SECONDS
    assert both_sides(found) == (before, after)
    removed = [len(piece.text) for piece in found.pieces if piece.kind == REMOVED]
    assert removed[0] == 1
    assert removed[-1] > 4_900


def test_what_the_budget_does_not_cover_is_told_by_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanfold.server.web.item.diff.MOST_COST", 0)
    assert told("the old house\n", "the new house\n") == [(REMOVED, "the old house\n"), (ADDED, "the new house\n")]


def test_an_ordinary_document_is_compared_word_by_word_to_its_end() -> None:
    before, after = chinese(1_000, 60)
    assert max(len(piece.text) for piece in compared(before, after).pieces if piece.kind == REMOVED) == 1
