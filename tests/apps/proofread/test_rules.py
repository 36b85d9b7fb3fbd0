"""Rules correct layout and punctuation, are stable, and never touch a letter or digit."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fanfold as ff
from fanfold.apps.proofread.formats import Block, BlockKind, Place
from fanfold.apps.proofread.rules import (
    RULES,
    GapRule,
    Rule,
    Setting,
    choose_rules,
    correct_blocks,
    correct_line,
    correct_text,
)

ODD = st.text(
    st.sampled_from(list("雨夜说我ab19 \t\u3000\n\r,.!?;:，。！？…—-“”\"'()（）=*第章一⟦⟧/\ufeff\x07%~―─<>")),
    max_size=60,
)


def letters(text: str) -> str:
    return "".join(one for one in text if one.isalnum())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_example_of_a_rule_is_what_it_does(rule: Rule | GapRule) -> None:
    assert correct_text(rule.before, [rule])[0] == rule.after
    assert correct_text(rule.after, [rule])[0] == rule.after


def test_rules_have_one_name_each() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  第一章   雨夜  .\n", "第一章   雨夜。\n"),
        ("他说: “好.”\n\n\n \n走, 吧!\n", "　　他说： “好。”\n\n　　走，吧！\n"),
        ("年龄 19, 身高 1,000 厘米, 时间 23:57.\n", "　　年龄 19,身高 1,000 厘米，时间 23:57.\n"),
        ("版本 3.14 在 example.com 上, 对吧?", "　　版本 3.14 在 example.com 上，对吧？"),
        ("雨... 停了--吗", "　　雨…… 停了——吗"),
        ("姓名(林栀), 走失", "　　姓名（林栀），走失"),
        ("1. 第一件事\n", "　　1. 第一件事\n"),
        ("NO ENTRY  ,  违者罚款", "　　NO ENTRY  ，违者罚款"),
        ("“Hello...” she said -- and left.\n", "“Hello...” she said -- and left.\n"),
        ("文件 a--b 不变", "　　文件 a--b 不变"),
        ("<!-- 注 -->", "　　<!-- 注 -->"),
    ],
)
def test_the_usual_rules_together(before: str, after: str) -> None:
    assert correct_text(before, choose_rules())[0] == after


def test_an_english_text_gets_no_chinese_layout() -> None:
    text = "CHAPTER I\n\n“No,” he said... and left -- at last.\n\n----\n\nThe end.\n"
    assert correct_text(text, choose_rules())[0] == text


def test_a_chinese_word_in_a_sentence_of_another_language_gets_no_chinese_layout() -> None:
    lines = ("He said “你好”, and left...", "  Москва, 東京, Paris", "كان يا مكان، 你好 --")
    foreign = Setting(chinese=False)
    assert [correct_line(line, RULES, foreign)[0] for line in lines] == [line.rstrip() for line in lines]
    assert correct_line("他说:你好,John", RULES, foreign)[0] == "　　他说：你好，John"


def test_every_correction_is_counted_with_its_rule() -> None:
    _, ruled = correct_text("雨, 停了...\n风, 停了.\n", choose_rules())
    assert ruled.counts["ellipses"] == 1
    assert ruled.counts["punctuation_width"] == 2
    step = next(step for step in ruled.steps if step.rule == "ellipses")
    assert (step.before[-3:], step.after[-2:]) == ("...", "……")


def test_rules_can_be_switched() -> None:
    usual = {rule.name for rule in choose_rules()}
    assert {rule.name for rule in choose_rules(["+quotes", "-dashes"])} == usual - {"dashes"} | {"quotes"}
    assert [rule.name for rule in choose_rules(["dashes", "ellipses"])] == ["ellipses", "dashes"]
    assert choose_rules(["none"]) == ()
    assert choose_rules(["all"]) == RULES
    with pytest.raises(ff.BadOption, match=r"nonsense.*ellipses"):
        choose_rules(["nonsense"])


def test_layout_is_left_to_the_markup_of_other_formats() -> None:
    block = Block("1", "  雨, 停了", Place(0, 0))
    assert correct_blocks([block], RULES, layout=False).changed == {"1": "  雨，停了"}


def test_a_line_that_is_removed_takes_its_gap_along() -> None:
    assert correct_text("一。\n\n====\n\n二。\n", choose_rules())[0] == "　　一。\n\n　　二。\n"


@pytest.mark.parametrize("rule", [rule for rule in RULES if isinstance(rule, Rule)], ids=lambda rule: rule.name)
@given(line=ODD, head=st.booleans(), chinese=st.booleans())
def test_a_rule_applied_twice_changes_nothing(rule: Rule, line: str, head: bool, chinese: bool) -> None:
    setting = Setting(head, chinese)
    once = rule.apply(line, setting)
    assert rule.apply(once, setting) == once
    assert letters(once) == letters(line)


@given(ODD)
@example(" 1\ufeff")
@example("—―──--一")
def test_all_rules_together_are_stable_and_keep_letters_and_digits(text: str) -> None:
    once, _ = correct_text(text, RULES)
    assert correct_text(once, RULES)[0] == once
    assert letters(once) == letters(text)


@given(ODD)
def test_the_usual_rules_are_stable(text: str) -> None:
    once, _ = correct_text(text, choose_rules())
    assert correct_text(once, choose_rules())[0] == once


def test_gaps_are_blocks_of_their_own() -> None:
    blocks = [Block("1", "一。", Place(0, 0)), Block("1+", "\r\n\r\n\r\n", Place(0, 0), kind=BlockKind.GAP)]
    assert correct_blocks(blocks, choose_rules(), newline="\r\n").changed == {"1": "　　一。", "1+": "\r\n\r\n"}
