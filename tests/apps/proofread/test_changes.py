"""Changes are listed by characters or words, keep their key after a redo, and follow decisions."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.apps.proofread.changes import Pair, Span, Verdict, apply_spans, compare, decided, list_changes, merged
from fanfold.apps.proofread.formats import Block, Brackets, Place
from fanfold.apps.proofread.rules import choose_rules, correct_blocks

SOURCE = "雨下的非常急, 像有人把整坐城的灯都拧灭了."
ANSWER = "雨下得非常急，像有人把整座城的灯都拧灭了。"


def test_chinese_is_compared_by_characters_and_english_by_words() -> None:
    assert compare("雨下的很急", "雨下得很急") == [Span(2, 3, "得")]
    assert compare("the quik brown fox", "the quick brown fox") == [Span(4, 8, "quick")]


def test_one_inserted_word_does_not_cascade() -> None:
    source = "He went to the station and then he went home again with his dog."
    assert compare(source, source.replace("then", "then slowly")) == [Span(32, 32, "slowly ")]


def test_changes_close_together_are_one() -> None:
    assert compare("雨夜天风", "雪夜地风") == [Span(0, 3, "雪夜地")]
    assert len(compare("雨夜夜夜天风", "雪夜夜夜地风")) == 2


def test_texts_too_long_to_compare_completely_differ_in_their_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[compare.__module__], "LARGEST", 10)
    assert compare("雨/下的很/急了", "雨/下得非常很/急了") == [Span(3, 4, "得非常")]


def test_a_marker_is_never_divided() -> None:
    brackets = Brackets()
    spans = compare("雨⟦1⟧停了⟦/1⟧。", "雨⟦2⟧停了⟦/1⟧。", brackets)
    assert spans == [Span(1, 4, "⟦2⟧")]


ALPHABET = st.text(st.sampled_from(list("雨夜ab c，。⟦1/⟧\n")), max_size=40)


@given(ALPHABET, ALPHABET)
def test_applying_all_changes_gives_the_answer_and_none_the_source(source: str, answer: str) -> None:
    spans = compare(source, answer, Brackets())
    assert apply_spans(source, spans) == answer
    changes = list_changes([Pair("1", source, answer, model="m")], Brackets())
    assert decided(source, changes, {}) == answer
    assert decided(source, changes, {}, usual="reject") == source
    assert decided(source, changes, {change.key: Verdict("reject") for change in changes}) == source
    assert len({change.key for change in changes}) == len(changes)


def test_each_change_has_its_words_kind_topic_and_context() -> None:
    changes = list_changes([Pair("1", SOURCE, ANSWER, model="m")])
    assert [(one.before, one.after, one.kind, one.topic) for one in changes] == [
        ("的", "得", "replace", "words"),
        (", ", "，", "replace", "punctuation"),
        ("坐", "座", "replace", "words"),
        (".", "。", "replace", "punctuation"),
    ]
    assert (changes[2].left, changes[2].right) == ("下的非常急, 像有人把整", "城的灯都拧灭了.")
    assert changes[0].as_dict()["origin"] == "model:m"


def test_changes_of_rules_are_told_from_those_of_a_model() -> None:
    ruled = correct_blocks([Block("1", SOURCE, Place(0, 0))], choose_rules(["-indentation"]))
    pair = Pair("1", SOURCE, ANSWER, ruled.changed["1"], "m", ruled.steps)
    origins = [change.origin for change in list_changes([pair])]
    assert origins == [
        "model:m",
        "rule:punctuation_width",
        "rule:punctuation_blanks",
        "model:m",
        "rule:punctuation_width",
    ]


def test_without_a_model_every_change_is_of_a_rule() -> None:
    ruled = correct_blocks([Block("1", "雨...", Place(0, 0))], choose_rules(["ellipses"]))
    (change,) = list_changes([Pair("1", "雨...", ruled.changed["1"], steps=ruled.steps)])
    assert change.origin == "rule:ellipses"


def test_decisions_survive_a_redo_that_yields_the_same_change() -> None:
    before = list_changes([Pair("1", SOURCE, ANSWER, model="m")])
    redone = ANSWER.replace("得非", "的非").replace("像有", "像那")
    after = list_changes([Pair("1", SOURCE, redone, model="other")])
    decisions = {before[2].key: Verdict("reject"), before[3].key: Verdict("replace", "！")}
    assert before[2].key in {change.key for change in after}
    assert decided(SOURCE, after, decisions).endswith("整坐城的灯都拧灭了！")


def test_equal_paragraphs_have_keys_of_their_own() -> None:
    changes = list_changes([Pair("1", SOURCE, ANSWER), Pair("2", SOURCE, ANSWER)])
    assert len({change.key for change in changes}) == 8
    texts = merged([Pair("1", SOURCE, ANSWER), Pair("2", SOURCE, ANSWER)], changes, {changes[0].key: Verdict("reject")})
    assert (texts["1"] == ANSWER, texts["2"] == ANSWER) == (False, True)


def test_a_replacement_by_nothing_deletes() -> None:
    changes = list_changes([Pair("1", "雨下的急", "雨下得急", model="m")])
    assert decided("雨下的急", changes, {changes[0].key: Verdict("replace", None)}) == "雨下急"


def test_an_unknown_verdict_is_an_error() -> None:
    changes = list_changes([Pair("1", "雨下的急", "雨下得急", model="m")])
    with pytest.raises(KeyError):
        decided("雨下的急", changes, {changes[0].key: Verdict("maybe")})
