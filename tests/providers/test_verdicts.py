"""Bad answers are distinguished from good ones."""

import pytest

from fanfold.errors import BadAnswer
from fanfold.model.money.questions import Usage
from fanfold.model.values.chatter import unfenced
from fanfold.providers.answer_checks import judge, repeats
from fanfold.providers.services.service import Finish, ServiceReply

PROSE = "The quick brown fox jumps over the lazy dog, and then it rests. " * 3


def reply(text: str, finish: Finish = Finish.WHOLE) -> ServiceReply:
    return ServiceReply(text, finish, Usage())


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (reply("half of", Finish.CUT_OFF), "cut_off"),
        (reply("", Finish.FILTERED), "filtered"),
        (reply(" \n"), "empty"),
        (reply("```markdown\n\n```"), "empty"),
        (reply("I'm sorry, but I can't assist with that."), "refusal"),
        (reply("I cannot transcribe this image."), "refusal"),
        (reply("抱歉，我无法处理这张图片。"), "refusal"),
        (reply(PROSE + "and so on " * 400), "repetition"),
        (reply(PROSE + "and so on " * 100, Finish.CUT_OFF), "repetition"),
        (reply(PROSE + "和和和" * 400, Finish.CUT_OFF), "repetition"),
        (reply("a" * 5_000), "repetition"),
    ],
)
def test_what_cannot_be_taken_is_not_taken(answer: ServiceReply, code: str) -> None:
    with pytest.raises(BadAnswer) as refused:
        judge(answer)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "Sorry, I was late, he said. " + " ".join(f"Then came the {n}th day." for n in range(40)),
        "| a | b |\n|---|---|\n" + "| | |\n" * 300,
        "| a | b |\n|---|---|\n" + "| yes | 100 |\n" * 60,
        "1. Introduction " + "." * 1_000,
        "\n".join(f"{n}. item number {n}" for n in range(500)),
        "# Title\n\n```python\nprint(1)\n```",
    ],
)
def test_a_good_answer_is_taken_as_it_is(text: str) -> None:
    assert judge(reply(text)) == text.strip()


def test_a_fence_around_the_whole_answer_goes() -> None:
    assert unfenced("```markdown\n# Title\n\ntext\n```") == "# Title\n\ntext"
    assert unfenced("```\nplain\n```") == "plain"
    assert unfenced("```md\n# T\n\n```python\nx = 1\n```\n\nend\n```") == "# T\n\n```python\nx = 1\n```\n\nend"


@pytest.mark.parametrize(
    "text", ["```python\nx = 1\n```", "```\na\n```\n\ntext\n\n```\nb\n```", "no fence", "```\nnever closed"]
)
def test_code_blocks_of_the_page_itself_stay(text: str) -> None:
    assert unfenced(text) == text


def test_an_application_may_add_a_check_of_its_own() -> None:
    def check(text: str) -> str:
        if "page" not in text:
            raise BadAnswer("no page", code="mine")
        return text.upper()

    assert judge(reply("a page"), check) == "A PAGE"
    with pytest.raises(BadAnswer, match="no page"):
        judge(reply("something else"), check)


def test_repetition_is_seen_whatever_is_repeated() -> None:
    assert repeats("start " + "x1 " * 400)
    assert repeats("start " + ("a line of text that is rather long " * 3 + "\n") * 30)
    assert not repeats("too short " * 5)
