"""What a model says around its answer is removed, and nothing of the document."""

import pytest

from fanfold.model.values.chatter import without_chatter

PAGE = "# 3 Results\n\nSales went up by 12 % in 2019.\n\n| a | b |\n|---|---|\n| 1 | 2 |"


@pytest.mark.parametrize(
    "answer",
    [
        "Sure! Here is the Markdown of the page:\n\n{}",
        "Sure, here's the transcription:\n{}",
        "Certainly! Here is the text from the image.\n\n{}",
        "Here is the converted Markdown:\n\n---\n{}",
        "**Here is the transcription of the image:**\n\n{}",
        "Below is the content extracted from the page you sent:\n\n{}",
        "好的，以下是转换后的内容：\n\n{}",
        "<think>The page has a table. I should keep it.</think>\n\n{}",
        "<think>\nOne.\n</think>\n<think>Two.</think>{}",
        "<thinking>hm</thinking>\nSure! Here is the page:\n\n{}",
        "The page has a table, so I keep it.\n</think>\n\n{}",
        "```markdown\n{}\n```",
        "Here is the Markdown:\n\n```markdown\n{}\n```",
        "Sure! Here it is:\n```md\n{}\n```\n\nLet me know if you need anything else!",
        "Sure! Here is the page:\n\n{}\n\nLet me know if you need any further changes.",
        "{}\n\nLet me know if you would like me to transcribe another page.",
        "{}\n\n---\n\nI hope this helps! If you want the Markdown formatted otherwise, tell me.",
        "Sure! Here is the page:\n\n{}\n\n希望以上内容对您有帮助！",
    ],
)
def test_what_is_said_around_the_answer_goes(answer: str) -> None:
    assert without_chatter(answer.format(PAGE)) == PAGE


@pytest.mark.parametrize(
    "text",
    [
        PAGE,
        "Dear Ann,\n\nthe book is here.\n\nLet me know if you have any questions.",
        "Dear Ann,\n\nthe book is here.\n\nPlease feel free to call me at any time. If you need help, ask.",
        "Sure is a strange word.\n\nIt comes from the French.",
        "Sure, he said, and went\n\nout of the door.",
        "Of course the weather was bad\nand nobody came.\n\nWe went home.",
        "Here is what we found in 2019:\n\n- rain\n- snow",
        "Here are the minutes of the meeting:\n\n1. Opening",
        "Below is a table of all prices:\n\n| a |\n|---|\n| 1 |",
        "The tag <think> opens a thought.\n\n<think>like this</think>\n\nand it ends.",
        "To close a thought, write </think> behind it.",
        "# Sure! Here is the Markdown:\n\nA chapter about chat programs.",
        "```python\nprint(1)\n```\n\ntext\n\n```python\nprint(2)\n```",
        "```\ncode\n```",
        "OK\n\nCancel",
        "Of course.\n\nThen he left.",
        "Sure, here is your coffee.\n\nShe put it on the desk.",
        "Okay. That was it.\n\nThe end.",
    ],
)
def test_nothing_of_a_document_is_cut(text: str) -> None:
    expected = "code" if text == "```\ncode\n```" else text
    assert without_chatter(text) == expected


def test_a_thought_without_end_loses_only_its_mark() -> None:
    assert without_chatter(f"<think>\n{PAGE}") == PAGE


def test_an_answer_that_is_only_a_greeting_is_left_for_others_to_judge() -> None:
    assert without_chatter("Sure! Here is the page:") == "Sure! Here is the page:"
