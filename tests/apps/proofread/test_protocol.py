"""Paragraphs come back by their numbers or are asked for again; nothing is aligned by count."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.apps.proofread.asking.alignment import Aligned, align_by_letters, placed
from fanfold.apps.proofread.asking.ladder import Rung, Step, first_step, next_steps
from fanfold.apps.proofread.asking.protocol import Outgoing, number_parts, read_answer
from fanfold.apps.proofread.checks import Defect
from fanfold.apps.proofread.checks.letters import letters
from fanfold.apps.proofread.chunks import Part
from fanfold.apps.proofread.formats import Block, BlockKind, Place


def parts(*texts: str) -> Outgoing:
    return number_parts(Part(f"p{number}", f"p{number}", text) for number, text in enumerate(texts, start=1))


SENT = parts("　　一。", "二。", "三。  ", "四。", "五。")


def answered(*pairs: tuple[object, str]) -> str:
    return json.dumps({"paragraphs": [{"id": number, "text": text} for number, text in pairs]}, ensure_ascii=False)


def test_paragraphs_go_out_numbered_without_the_white_space_around_them() -> None:
    assert json.loads(SENT.as_json())[0] == {"id": 1, "text": "一。"}
    assert SENT.as_delimited().startswith("@@1@@\n一。\n@@2@@\n二。")


@pytest.mark.parametrize(
    "answer",
    [
        answered((1, "A"), (2, "B"), (3, "C"), (4, "D"), (5, "E")),
        answered(("5", "E"), (2, "B"), (3, "C"), (4, "D"), (1, "A")),
        json.dumps({str(number): text for number, text in enumerate("ABCDE", start=1)}),
        "Some words "
        + json.dumps([{"id": number, "text": text} for number, text in enumerate("ABCDE", start=1)])
        + " more",
        "@@1@@\nA\n@@2@@\nB\n@@3@@\n\nC\n@@ 4 @@\nD\n@@5@@\nE\n",
    ],
)
def test_all_forms_of_an_answer_are_read(answer: str) -> None:
    received = read_answer(answer, SENT)
    assert received.texts == {"p1": "　　A", "p2": "B", "p3": "C  ", "p4": "D", "p5": "E"}
    assert (received.again, received.defects) == ((), ())


def test_merged_paragraphs_and_their_neighbours_are_asked_for_again() -> None:
    received = read_answer(answered((1, "A"), (2, "B C"), (4, "D"), (5, "E")), SENT)
    assert set(received.texts) == {"p1", "p5"}
    assert received.again == ("p2", "p3", "p4")
    assert [defect.name for defect in received.defects] == ["ids_missing"]


def test_two_texts_for_one_number_are_asked_for_again() -> None:
    received = read_answer(answered((1, "A"), (2, "B"), (2, "C"), (3, "C"), (4, "D"), (5, "E")), SENT)
    assert received.again == ("p2",)
    assert read_answer(answered((1, "A"), (1, "A"), (2, "B"), (3, "C"), (4, "D"), (5, "E")), SENT).again == ()


@pytest.mark.parametrize(
    ("numbers", "defect"),
    [
        ((1, 2, 3, 4, 5, 6), "ids_unknown"),  # One paragraph was divided, and the rest moved on.
        ((2, 3, 4, 5, 6), "ids_missing"),  # All moved by one.
        ((1, 2, 3, 4), "ids_missing"),  # Two were joined, and the rest moved up.
    ],
)
def test_an_answer_that_may_be_numbered_anew_is_asked_for_again_as_a_whole(
    numbers: tuple[int, ...], defect: str
) -> None:
    received = read_answer(answered(*((number, "text") for number in numbers)), SENT)
    assert (dict(received.texts), len(received.again)) == ({}, 5)
    assert received.defects[0].name == defect


def test_of_an_answer_that_was_cut_off_the_whole_paragraphs_are_kept() -> None:
    received = read_answer("@@1@@\nA\n@@2@@\nB\n@@3@@\nC and", SENT, cut_off=True)
    assert received.texts == {"p1": "　　A", "p2": "B"}
    assert received.again == ("p3", "p4", "p5")


def test_brackets_in_a_remark_do_not_hide_the_answer() -> None:
    remark = "Here [as you asked] it is: "
    assert len(read_answer(remark + answered(*((number, "x") for number in range(1, 6))), SENT).texts) == 5


@pytest.mark.parametrize(
    "answer", ["", "一。二。三。", '[{"id": 1, "text": "A"', "[1, 2]", "{}", '[{"id": true, "text": "A"}]']
)
def test_an_answer_without_structure_is_asked_for_again(answer: str) -> None:
    received = read_answer(answer, SENT)
    assert (dict(received.texts), len(received.again)) == ({}, 5)
    assert received.defects


def test_a_delimiter_that_occurs_in_the_text_is_not_used() -> None:
    assert parts("a @@1@@ b").delimiter == "%%{}%%"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=8))
def test_an_unchanged_answer_is_the_source_in_json(texts: list[str]) -> None:
    sent = parts(*texts)
    received = read_answer(sent.as_json(), sent)
    assert received.texts == {part.id: part.text for part in sent.parts}


@given(st.lists(st.sampled_from(["雨。", "two\nlines", "  x ", "@@1@@"]), min_size=1, max_size=8))
def test_an_unchanged_answer_is_the_source_with_delimiters(texts: list[str]) -> None:
    sent = parts(*texts)
    assert read_answer(sent.as_delimited(), sent).texts == {part.id: part.text for part in sent.parts}


WRONG = Defect("letters_changed", "letters differ")


def test_the_ladder_names_halves_changes_the_model_and_leaves_a_gap() -> None:
    step = first_step("abcd")
    (named,) = next_steps(step, ["b", "c", "d"], [WRONG], models=2)
    assert (named.rung, named.parts, named.defects) == (Rung.NAMED, ("b", "c", "d"), (WRONG,))
    left, right = next_steps(named, ["b", "c", "d"], [WRONG], models=2)
    assert (left.rung, left.parts, right.parts) == (Rung.HALVED, ("b", "c"), ("d",))
    (other,) = next_steps(right, ["d"], [WRONG], models=2)
    assert (other.rung, other.model) == (Rung.NEXT_MODEL, 1)
    (told,) = next_steps(other, ["d"], [WRONG], models=2)
    (gap,) = next_steps(told, ["d"], [WRONG], models=2)
    assert (gap.rung, gap.parts, gap.defects) == (Rung.GAP, ("d",), (WRONG,))
    assert next_steps(gap, ["d"], [WRONG], models=2) == ()


def test_an_answer_that_was_cut_off_is_halved_at_once_and_a_refusal_goes_to_the_next_model() -> None:
    halves = next_steps(first_step("ab"), ["a", "b"], [Defect("cut_off", "")], models=2)
    assert [step.parts for step in halves] == [("a",), ("b",)]
    (other,) = next_steps(first_step("ab"), ["a", "b"], [Defect("refused", "")], models=2)
    assert (other.rung, other.parts) == (Rung.NEXT_MODEL, ("a", "b"))


@given(st.integers(1, 9), st.integers(1, 3), st.data())
def test_the_ladder_ends_with_every_part_answered_or_in_a_gap_once(
    count: int, models: int, data: st.DataObject
) -> None:
    names = [f"p{number}" for number in range(count)]
    open_steps, calls = [first_step(names)], 0
    done: list[str] = []
    gaps: list[str] = []
    while open_steps:
        step = open_steps.pop()
        if step.is_gap:
            gaps += step.parts
            continue
        calls += 1
        again = data.draw(st.lists(st.sampled_from(step.parts), unique=True))
        done += [part for part in step.parts if part not in again]
        defect = data.draw(st.sampled_from(["letters_changed", "cut_off", "refused", "no_structure"]))
        open_steps += next_steps(step, again, [Defect(defect, "")], models)
    assert sorted(done + gaps) == sorted(names)
    assert calls <= models * (4 * count + 2)


def test_halves_are_told_only_their_own_defects() -> None:
    mine, other = Defect("x", "", "a"), Defect("x", "", "b")
    halves = next_steps(Step(("a", "b"), Rung.NAMED, named=True), ["a", "b"], [mine, other])
    assert [step.defects for step in halves] == [(mine,), (other,)]


def test_joined_and_divided_paragraphs_find_their_source() -> None:
    found = align_by_letters(["雨停了,", "他走了. 我也走了", "“走!”"], "雨停了，他走了。\n我也走了\n\n“走！”")
    assert [(one.text, one.joined) for one in found] == [
        ("雨停了，", False),
        ("他走了。\n我也走了", True),
        ("“走！”", False),
    ]
    with pytest.raises(ValueError, match="letters"):
        align_by_letters(["雨"], "雪")


def test_a_joined_paragraph_loses_the_gap_before_it() -> None:
    kinds = {"1": BlockKind.PARAGRAPH, "1+": BlockKind.GAP, "2": BlockKind.PARAGRAPH, "2+": BlockKind.GAP}
    blocks = [Block(name, "x", Place(0, 0), kind=kind) for name, kind in kinds.items()]
    assert placed(blocks, {"1": Aligned("雨，"), "2": Aligned("风。", joined=True)}) == {
        "1": "雨，",
        "1+": "",
        "2": "风。",
    }


@given(st.lists(st.text(st.sampled_from(list("雨夜aﬁ12，。“” \n")), max_size=12), min_size=1, max_size=6), st.data())
def test_aligned_pieces_have_the_letters_of_their_source(texts: list[str], data: st.DataObject) -> None:
    seams = data.draw(
        st.lists(st.sampled_from(["", "\n", "\n\n", "。", " “"]), min_size=len(texts), max_size=len(texts))
    )
    answer = "".join(text + seam for text, seam in zip(texts, seams, strict=True))
    pieces = align_by_letters(texts, answer)
    assert [letters(piece.text) for piece in pieces] == [letters(text) for text in texts]


def test_a_model_that_does_not_do_the_task_is_not_asked_paragraph_by_paragraph() -> None:
    todo = [first_step(f"p{at}" for at in range(40))]
    calls = 0
    gaps: list[str] = []
    while todo:
        step = todo.pop()
        calls += not step.is_gap
        gaps += step.parts if step.is_gap else ()
        todo += next_steps(step, step.parts, [Defect("no_structure", "")])
    assert (calls, len(gaps)) == (8, 40)
