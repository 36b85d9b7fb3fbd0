"""An answer that lost the page's text is distinguished from a complete one."""

import pytest

import fanfold as ff
from fanfold.apps.pdf.pages.page_checks import check_against, share_found

LAYER = " ".join(f"word{n}" for n in range(60))


def test_an_answer_with_the_words_of_the_page_is_taken() -> None:
    answer = "# " + LAYER.replace("word7 ", "").upper()
    assert check_against(LAYER)(answer) == answer


def test_an_answer_that_lost_most_of_the_page_is_not() -> None:
    with pytest.raises(ff.BadAnswer, match="only 17% of the page's words") as refused:
        check_against(LAYER)(" ".join(LAYER.split()[:10]))
    assert refused.value.code == "lost_text"


def test_chinese_is_compared_character_by_character() -> None:
    text = "折叠纸是一种连续的打印纸，每一页都与下一页相连，可以整齐地折叠起来存放在盒子里。"
    assert share_found(text, text.replace("，", "")) == 1.0
    assert share_found(text, text[:10]) < 0.5


def test_of_a_few_words_nothing_can_be_told() -> None:
    assert check_against("Figure 3")("a picture of a cat") == "a picture of a cat"


def test_of_some_words_it_is_told_whether_nearly_all_are_missing() -> None:
    notice = "The water will be turned off on 12 March. Please store enough of it in advance."
    with pytest.raises(ff.BadAnswer, match="only 0% of the page's words"):
        check_against(notice)("Hello.")
    assert check_against(notice)("Water: off on 12 March") == "Water: off on 12 March"


def test_an_offer_at_the_end_goes_unless_the_page_makes_it_itself() -> None:
    letter = "Dear Ann, the book is here and it is as thick as you feared. " * 4
    offer = "Let me know if you have any questions."
    assert check_against(letter)(f"{letter}\n\n{offer}") == letter.rstrip()
    assert check_against(f"{letter}\n\n{offer}")(f"{letter}\n\n{offer}") == f"{letter}\n\n{offer}"
