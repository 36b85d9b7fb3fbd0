"""Chunks follow the text, keep to their limit, and lose nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold as ff
from fanfold.apps.proofread.chunks import divide, prove_complete, reassemble, split_chunks, surroundings, usual_limit
from fanfold.apps.proofread.formats import Block, BlockKind, Place

NOWHERE = Place(0, 0)


def blocks_of(*texts: str) -> list[Block]:
    found = []
    for number, text in enumerate(texts, start=1):
        kind = BlockKind.HEAD if text.startswith("第") else BlockKind.GAP if not text.strip() else BlockKind.PARAGRAPH
        found.append(Block(str(number), text, NOWHERE, kind=kind))
    return found


def shape(blocks: list[Block], limit: int) -> list[list[str]]:
    return [[part.id for part in chunk.parts] for chunk in split_chunks(blocks, limit)]


def test_a_chunk_begins_at_the_head_of_a_chapter() -> None:
    blocks = blocks_of("前言文字" * 20, "第一章", "雨。" * 40, "第二卷", "第二章", "风。" * 40)
    assert shape(blocks, 120) == [["1"], ["2", "3"], ["4", "5", "6"]]
    assert [chunk.chapter for chunk in split_chunks(blocks, 120)] == ["", "第一章", "第二卷"]


def test_short_chapters_share_a_chunk_and_each_chunk_names_its_first() -> None:
    texts = [text for at in range(1, 41) for text in (f"第{at}章", "雨下得很急。" * 3)]
    chunks = split_chunks(blocks_of(*texts), 200)
    assert all(120 <= chunk.characters <= 200 for chunk in chunks[:-1])
    assert all(chunk.parts[0].text == chunk.chapter for chunk in chunks)
    long = split_chunks(blocks_of("第一章", "雨。", "第二章", *["风。" * 40] * 3), 100)
    assert [chunk.chapter for chunk in long] == ["第一章", "第二章", "第二章"]


def test_a_chunk_ends_between_paragraphs() -> None:
    assert shape(blocks_of("雨" * 40, "风" * 40, "雪" * 40), 100) == [["1", "2"], ["3"]]


def test_a_break_between_scenes_ends_a_chunk_that_is_nearly_full() -> None:
    assert shape(blocks_of("雨" * 70, "* * *", "风" * 10, "雪" * 10), 100) == [["1"], ["3", "4"]]
    assert shape(blocks_of("雨" * 30, "\n\n\n", "风" * 10, "雪" * 10), 100) == [["1", "3", "4"]]


def test_a_line_of_20_000_characters_is_divided_at_sentences() -> None:
    line = "雨下得很急，像有人把整座城的灯都拧灭了。" * 1000
    chunks = split_chunks(blocks_of(line), 1500)
    assert max(chunk.characters for chunk in chunks) <= 1500
    assert all(chunk.parts[0].text.endswith("。") for chunk in chunks)
    assert len(chunks) <= 15
    prove_complete(blocks_of(line), chunks)


def test_a_word_or_marker_is_not_cut() -> None:
    text = "word " * 30
    assert all(piece.endswith(" ") for piece in divide(text, 42)[:-1])
    marked = "雨" * 28 + "⟦12⟧" + "风" * 20
    assert divide(marked, 30)[0] == "雨" * 28


def test_the_limit_depends_on_the_script() -> None:
    assert usual_limit(blocks_of("雨下得很急。")) == 1500
    assert usual_limit(blocks_of("It rained.")) == 4000


def test_missing_blocks_are_noticed() -> None:
    blocks = blocks_of("雨。", "风。")
    with pytest.raises(ff.Permanent, match="block 2"):
        prove_complete(blocks, split_chunks(blocks[:1], 100))


def test_a_chunk_knows_what_stands_around_it() -> None:
    chunks = split_chunks(blocks_of("雨停了。" * 20, "风" * 70, "雪化了。" * 20), 100)
    before, after = surroundings(chunks, 1, 30)
    assert before == "雨停了。" * 7
    assert after == "雪化了。" * 7
    assert surroundings(chunks, 0, 30)[0] == surroundings(chunks, 2, 30)[1] == ""


TEXTS = st.lists(
    st.one_of(
        st.sampled_from(["第一章 雨", "* * *", "\n\n\n", " ", "第二回"]),
        st.text(st.sampled_from(list("雨夜。，！ab. \n⟦⟧/12̈\u200d")), max_size=200),
    ),
    max_size=20,
)


@given(TEXTS, st.integers(1, 120))
def test_putting_chunks_together_gives_the_text_again(texts: list[str], limit: int) -> None:
    blocks = blocks_of(*texts)
    chunks = split_chunks(blocks, limit)
    prove_complete(blocks, chunks)
    parts = [part for chunk in chunks for part in chunk.parts]
    assert len({part.id for part in parts}) == len(parts)
    assert all(chunk.characters <= max(limit, 20) for chunk in chunks)
    assert reassemble(parts, {}) == {block.id: block.text for block in blocks if block.editable}
    assert [chunk.number for chunk in chunks] == list(range(1, len(chunks) + 1))


@given(st.text(min_size=1, max_size=300), st.integers(20, 60))
def test_dividing_loses_nothing_and_ends(text: str, limit: int) -> None:
    pieces = divide(text, limit)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= limit for piece in pieces)
