"""Every fault of an answer is found and named; good answers pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold as ff
from fanfold.apps.proofread.checks import (
    Contract,
    LengthBand,
    Mode,
    Severity,
    check_finish,
    check_part,
    check_parts,
    clean_answer,
    first_difference,
    hard,
    mode_named,
    refused_parts,
)
from fanfold.apps.proofread.glossary import Term

RAIN = "雨下得很急，像有人把整座城的灯都拧灭了。我推开便利店的玻璃门，门铃叮当一声，把困意也敲碎。"
ENGLISH = "It rained hard, as if someone had switched off all the lights of the city. I pushed the glass door open."


def names(contract: Contract, source: str, answer: str) -> list[str]:
    return [defect.name for defect in hard(check_part(contract, source, answer, "7"))]


def test_format_mode_proves_identity_and_names_the_first_difference() -> None:
    contract = Contract(Mode.FORMAT)
    assert names(contract, "雨下得很急, 像...", "雨下得很急，像……") == []
    assert names(contract, "Ｎｏ １２ ﬁ", "No 12 fi") == []
    (defect,) = check_part(contract, RAIN, RAIN.replace("座城", "座"), "7")
    assert (defect.name, defect.part) == ("letters_changed", "7")
    assert (
        "from character 12 on (after '雨下得很急像有人把整座'), letters or digits differ: the source has '城的灯"
        in defect.sentence
    )


def test_one_lost_sentence_is_found_although_the_length_is_nearly_the_same() -> None:
    source = RAIN * 60
    answer = source.replace("门铃叮当一声，", "", 1)
    assert len(answer) / len(source) > 0.99
    assert names(Contract(Mode.FORMAT), source, answer) == ["letters_changed"]


@pytest.mark.parametrize("answer", ["雪停了。", "雨停。", "雨停了了。", "停雨了。", "雨停1。"])
def test_every_fault_of_format_mode_is_found(answer: str) -> None:
    assert names(Contract(Mode.FORMAT), "雨停了.", answer) == ["letters_changed"]


def test_marks_and_vowel_signs_count_as_letters() -> None:
    assert first_difference("हिन्दी", "हनद") is not None
    assert first_difference("cafe\u0301", "café") is None


def test_symbols_that_disappear_are_a_warning() -> None:
    (defect,) = check_part(Contract(Mode.FORMAT), "打 50%，¥3", "打 50，3")
    assert (defect.name, defect.severity) == ("symbols_lost", Severity.SOFT)


@given(st.text(max_size=80))
def test_identity_holds_for_a_text_and_itself(text: str) -> None:
    assert first_difference(text, text) is None


@given(st.text(st.sampled_from(list("雨夜ab12，。 ")), min_size=1, max_size=60), st.data())
def test_every_lost_letter_is_found(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    found = first_difference(text, text[:at] + text[at + 1 :])
    assert (found is not None) == text[at].isalnum()


@pytest.mark.parametrize(
    ("answer", "defects"),
    [
        (RAIN.replace("拧灭", "熄灭"), []),
        (RAIN[: len(RAIN) // 2], ["too_many_changes"]),
        ("", ["empty_answer", "too_many_changes"]),
    ],
)
def test_proofreading_has_a_budget(answer: str, defects: list[str]) -> None:
    assert names(Contract(Mode.PROOFREAD), RAIN, answer) == defects


def test_proofreading_keeps_numbers_and_names() -> None:
    contract = Contract(Mode.PROOFREAD, terms=(Term("林栀"),))
    assert names(contract, "林栀在 23:57 走失，年龄 19。", "林栀在 23:59 走失，年龄 19。") == ["numbers_changed"]
    assert names(contract, "林栀在车站走失，大家都在找她。", "林枝在车站走失，大家都在找她。") == ["names_changed"]
    assert names(contract, "１９ 岁的林栀。", "19 岁的林栀。") == []


def test_editing_keeps_language_and_size() -> None:
    contract = Contract(Mode.EDIT)
    assert names(contract, RAIN, "雨很急，整座城的灯像都灭了。我推开便利店的门，门铃一响，困意全无。") == []
    assert names(contract, RAIN, ENGLISH) == ["wrong_script", "length_unusual"]
    assert names(contract, RAIN, "雨很急。") == ["length_unusual"]


def test_a_translation_is_in_its_language_and_not_the_source() -> None:
    contract = Contract(Mode.TRANSLATE, language="en")
    assert names(contract, RAIN, ENGLISH) == []
    assert names(contract, RAIN, RAIN) == ["not_translated", "wrong_script"]
    assert names(contract, RAIN, RAIN.replace("雨", "雪")) == ["wrong_script"]
    assert names(contract, "OK!", "OK!") == []
    assert names(Contract(Mode.TRANSLATE, language="zh-CN"), ENGLISH, RAIN) == []


@pytest.mark.parametrize(
    ("answer", "defect"),
    [
        ("It ⟦1⟧rained⟦/1⟧ hard all the night.", []),
        ("All the night it ⟦1⟧rained⟦/1⟧.", []),
        ("It rained hard all the night.", ["markers_lost"]),
        ("It ⟦1⟧rained⟦/1⟧ hard all ⟦2⟧ night.", ["markers_added"]),
        ("It ⟦1⟧rained⟦/1⟧ hard ⟦1⟧ all the night.", ["markers_added"]),
        ("It ⟦/1⟧rained⟦1⟧ hard all the night.", ["markers_garbled"]),
        ("It ⟦1⟧rained⟦/1⟧ hard ⟦ all the night.", ["markers_garbled"]),
    ],
)
def test_markers_come_back_once(answer: str, defect: list[str]) -> None:
    assert names(Contract(Mode.TRANSLATE, language="en"), "整夜都在下⟦1⟧很大的⟦/1⟧雨。", answer) == defect


def test_a_glossary_allows_inflected_forms() -> None:
    contract = Contract(Mode.TRANSLATE, language="de", terms=(Term("旧车站", "alter Bahnhof"), Term("林栀", "Lin Zhi")))
    source = "林栀走到旧车站的围栏前面停了下来。"
    assert names(contract, source, "Lin Zhi ging bis zum Zaun des alten Bahnhofs und blieb stehen.") == []
    assert names(contract, source, "Lin Zhi ging bis zum Zaun der Haltestelle und blieb stehen.") == [
        "glossary_ignored"
    ]


def test_a_loop_is_found_unless_the_source_has_it() -> None:
    contract = Contract(Mode.TRANSLATE, language="en")
    looping = "It rained and rained. " + "He went on. " * 200
    assert "repetition" in names(contract, RAIN * 20, looping)
    assert names(contract, "哈哈哈哈哈哈哈哈哈哈哈哈。", "Ha ha ha ha ha ha!") == []


def test_a_remark_instead_of_text_is_found() -> None:
    contract = Contract(Mode.TRANSLATE, language="en")
    assert "chatter" in names(contract, RAIN, "Sure! Here is the translation:\n" + ENGLISH)


def test_length_bands_are_learned_from_the_book() -> None:
    band = LengthBand().seen([(RAIN, ENGLISH)] * 8)
    assert band.median == pytest.approx(len(ENGLISH) / len(RAIN))
    contract = Contract(Mode.TRANSLATE, language="en", band=band)
    assert names(contract, RAIN, ENGLISH) == []
    assert names(contract, RAIN, ENGLISH[:30]) == ["length_unusual"]
    assert names(Contract(Mode.TRANSLATE, language="en"), RAIN, ENGLISH[:30]) == []


@given(st.lists(st.floats(0.2, 5.0), min_size=8, max_size=40))
def test_the_running_median_does_not_depend_on_the_order(ratios: list[float]) -> None:
    pairs = [("x" * 100, "y" * round(100 * ratio)) for ratio in ratios]
    assert LengthBand().seen(pairs).median == LengthBand().seen(reversed(pairs)).median


def test_a_cut_off_or_refused_answer_is_a_defect_whatever_it_says() -> None:
    found = [check_finish(reason) for reason in ("stop", None, "length", "content_filter")]
    assert [defect.name if defect else None for defect in found] == [None, None, "cut_off", "refused"]


def test_defects_say_which_parts_to_ask_for_again() -> None:
    contract = Contract(Mode.FORMAT)
    defects = check_parts(contract, {"1": "雨。", "2": "风。"}, {"1": "雨", "2": "雪。"})
    assert refused_parts(defects, ["1", "2"]) == {"2"}


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ff.BadOption, match="format, proofread, edit, translate"):
        mode_named("rewrite")


@pytest.mark.parametrize(
    ("answer", "text", "cleanings"),
    [
        ("雨。", "雨。", ()),
        ("<think>hm\n</think>\n雨。", "雨。", ("thoughts",)),
        ("hm, so\n</think>雨。", "雨。", ("thoughts",)),
        ("<think>雨。", "雨。", ("thoughts",)),
        ("```json\n[1]\n```", "[1]", ("fence",)),
        ("<text>\n雨。\n</text>", "雨。", ("tags",)),
        ("<think>x</think><output>\n```\n雨。\n```\n</output>", "雨。", ("thoughts", "tags", "fence")),
        ("Here is the corrected text:\n\n雨。", "雨。", ("greeting",)),
        ("好的，以下是校对后的文本：\n雨。", "雨。", ("greeting",)),
        ("他说：好的。\n雨。", "他说：好的。\n雨。", ()),
        ("Here is the key: he took it.\nIt rained.", "Here is the key: he took it.\nIt rained.", ()),
    ],
)
def test_answers_are_cleaned_and_each_cleaning_is_recorded(answer: str, text: str, cleanings: tuple[str, ...]) -> None:
    cleaned = clean_answer(answer)
    assert (cleaned.text, cleaned.cleanings) == (text, cleanings)


def test_a_polite_sentence_stays_unless_the_rest_is_a_good_answer() -> None:
    answer = "Here is the corrected text:\nIt rained."
    assert clean_answer(answer, accept=lambda text: False).text == answer
    assert clean_answer(answer, accept=lambda text: text == "It rained.").cleanings == ("greeting",)


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("It lasted from 5 to 7.", "It lasted from 7 to 5."),
        ("他三十年前离开了家。", "他五十年前离开了家。"),
        ("It was -5 degrees.", "It was 5 degrees."),
        ("It cost 50% more.", "It cost 50 more."),
        ("It cost $3 then.", "It cost 3 then."),
    ],
)
def test_numbers_keep_their_order_their_signs_and_their_units(source: str, answer: str) -> None:
    [name] = names(Contract(Mode.PROOFREAD), source, answer)
    assert name in ("numbers_moved", "numbers_changed")


@pytest.mark.parametrize(
    ("source", "answer"),
    [("pages 5-7, ５０ ％ off", "pages 5–7, 50% off"), ("它们在以起", "它们在一起"), ("−5 °C", "-5 °C")],
)
def test_a_number_in_another_form_is_the_same_number(source: str, answer: str) -> None:
    assert "numbers_changed" not in names(Contract(Mode.PROOFREAD), source, answer)


def test_a_budget_of_zero_allows_nothing() -> None:
    assert names(Contract(Mode.PROOFREAD, budget=0.0), "The rain fell.", "The ruin fell.") == ["too_many_changes"]


@pytest.mark.parametrize(
    ("source", "answer", "found"),
    [
        ("The rain fell on the old town.", "Therainfellontheoldtown.", ["words_joined"]),
        ("T h e r a i n f e l l .", "The rain fell.", []),
        ("雨停了，天亮了，他走了。", "雨停了天亮了他走了", ["punctuation_lost"]),
        ("雨停了. . . . . . 他走了。", "雨停了……他走了。", []),
        ("雨停了。", "雨停了" + "。" * 200, ["length_unusual"]),
    ],
)
def test_format_mode_neither_joins_words_nor_loses_punctuation(source: str, answer: str, found: list[str]) -> None:
    assert names(Contract(Mode.FORMAT), source, answer) == found


@pytest.mark.parametrize(
    ("language", "source", "answer", "found"),
    [
        ("en", RAIN, ENGLISH + RAIN[:24], ["left_over"]),
        ("en", "他写下“龙”字。", "He wrote the character “龙”.", []),
        ("zh", ENGLISH, "雨下得很急，" + ENGLISH[:24] + "我推开了便利店的玻璃门，外面没有人，只有风。", ["left_over"]),
        ("zh", ENGLISH, "雨下得很急，這個時候沒有人來，我們還在說話。", ["other_characters"]),
        ("zh-TW", ENGLISH, "雨下得很急，这个时候没有人来，我们还在说话。", ["other_characters"]),
        ("zh-TW", ENGLISH, "雨下得很急，這個時候沒有人來，我們還在說話。", []),
    ],
)
def test_a_translation_leaves_nothing_over_and_is_in_the_right_characters(
    language: str, source: str, answer: str, found: list[str]
) -> None:
    found_names = names(Contract(Mode.TRANSLATE, language=language), source, answer)
    assert [name for name in found_names if name != "wrong_script"] == found


def test_a_number_that_became_another_one_in_translation_is_a_warning() -> None:
    contract = Contract(Mode.TRANSLATE, language="zh")
    (defect,) = check_part(contract, "It happened in 1986.", "那是一九八六年，也就是1968年的事。")
    assert (defect.name, defect.severity) == ("numbers_changed", Severity.SOFT)
    assert check_part(contract, "It took 212 steps.", "一共走了二百一十二级台阶。") == []
