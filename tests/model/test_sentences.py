"""A sentence is a code with parameters: usable as text, and rendered again in another language."""

import ast
import copy
import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest

import fanfold
from fanfold.apps.pdf import sentences as pdf
from fanfold.errors import BadPipeline
from fanfold.model.text import catalogue
from fanfold.model.text.sentences import (
    ENGLISH,
    KEPT_LENGTH,
    NOW,
    Catalogue,
    Language,
    Sentence,
    gaps,
    joined,
    kept,
    read_in,
    render,
    restored,
    say,
    without_typed,
)

FRENCH = Language(
    {
        "paused_because": "en pause : {why}",
        "no_reason_kept": "aucune raison",
        "several": "{reasons:;}",
        "rate_limited": "limité par {service}",
        "unreachable_since": "{service} injoignable depuis {since:time}",
    },
    semicolon=" ; ",
)
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def calls(name: str = "say") -> list[tuple[str, ast.Call]]:
    """Every call of `say`, or of that of an application, with where it stands."""
    found = []
    for file in Path(fanfold.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                found.append((f"{file.name}:{node.lineno}", node))
    assert len(found) > 20
    return found


@pytest.mark.parametrize(("name", "english"), [("say", catalogue.ENGLISH), ("say_of_pdf", pdf.ENGLISH)])
def test_every_sentence_is_said_with_the_parameters_of_its_template(name: str, english: dict[str, str]) -> None:
    wrong, said = [], set()
    for where, call in calls(name):
        code = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        given = {keyword.arg for keyword in call.keywords} - {NOW}
        said.add(code)
        if code not in english or given != gaps(english[code]):
            wrong.append((where, code, given))
    assert not wrong
    assert set(english) == said, "every template is used"


def test_no_code_is_in_two_parts_of_the_catalogue() -> None:
    assert sum(map(len, catalogue.PARTS)) == len(catalogue.ENGLISH)


def test_the_pdf_application_says_everything_in_chinese() -> None:
    assert set(pdf.CHINESE) == set(pdf.ENGLISH)
    assert not [
        code for code, text in pdf.CHINESE.items() if not any("\u4e00" <= letter <= "\u9fff" for letter in text)
    ]
    for code, text in pdf.CHINESE.items():
        assert gaps(without_typed(text)) <= gaps(without_typed(pdf.ENGLISH[code])), code


def test_a_sentence_is_text_and_keeps_its_code_through_pickle_and_copy() -> None:
    sentence = say("rate_limited", service="fake")
    assert sentence == "rate limited by fake"
    for other in (pickle.loads(pickle.dumps(sentence)), copy.deepcopy(sentence)):
        assert (other, other.code, other.parameters) == (sentence, "rate_limited", {"service": "fake"})


def test_sentences_inside_a_sentence_are_rendered_with_it() -> None:
    paused = say("paused_because", why=say("no_reason_kept"))
    assert paused == "paused: no reason was kept"
    assert render(paused, FRENCH) == "en pause : aucune raison"


def test_text_without_a_code_and_codes_that_a_language_does_not_know_stay_as_they_are() -> None:
    assert render("a handler's own words", FRENCH) == "a handler's own words"
    assert render(say("trying_now"), FRENCH) == "trying now"
    assert render(say("paused_because", why="mine"), FRENCH) == "en pause : mine"
    assert render(None, FRENCH) == ""


def test_parameters_of_another_version_give_the_text_as_it_was() -> None:
    assert render(Sentence("limited", "rate_limited", {"by": "fake"}), FRENCH) == "limited"
    assert render(Sentence("since", "unreachable_since", {"service": "x", "since": 7}), FRENCH) == "since"


def test_a_time_has_its_date_unless_it_is_said_on_that_day() -> None:
    known = {"service": "fake", "since": NOON}
    assert say("unreachable_since", **known, now=NOON) == "fake unreachable since 12:00 UTC"
    assert say("unreachable_since", **known).endswith("since 2030-01-01 12:00 UTC")
    assert render(say("unreachable_since", **known, now=NOON), FRENCH).endswith("depuis 12:00 UTC")


def test_what_is_for_a_terminal_is_left_out_elsewhere() -> None:
    own = Catalogue("own", {"gone": "It is gone.[[ To see: fanfold show {task}]]"})
    sentence = own("gone", task="t-1")
    assert sentence == "It is gone. To see: fanfold show t-1"
    assert render(sentence, Language(own.english)) == "It is gone."
    assert render(sentence, Language(own.english), typed=True) == sentence
    assert render(own("gone", task="[[ ]]"), Language(own.english), typed=True).endswith("fanfold show [[ ]]")


def test_a_program_is_not_given_what_is_only_to_be_typed() -> None:
    own = Catalogue("own", {"gone": "It is gone.[[ To see: fanfold show {task}]]", "why": "{what:bare}, as {why}"})
    read = read_in(own("why", what=own("gone", task="t-1"), why="said"), Language(own.english))
    assert read == "It is gone, as said"
    assert read.data == {
        "code": "own.why",
        "parameters": {"what": {"code": "own.gone", "parameters": {}, "text": "It is gone."}, "why": "said"},
    }


def test_words_for_one_and_for_many_and_lists() -> None:
    assert say("items_held", count=1, why="look!", ways=[say("retry_held", count=1)]) == (
        "1 item waits for you: look! You can retry it"
    )
    ways = [say("retry_held", count=2), say("merge_without_held", count=2), say("cancel_task")]
    assert say("items_held", count=2, why="look.", ways=ways).endswith(
        "look. You can retry them, merge without them or cancel the task"
    )


def test_several_reasons_are_one_sentence_each_once() -> None:
    limited = say("rate_limited", service="fake")
    both = joined([limited, "mine", limited])
    assert both == "rate limited by fake; mine"
    assert render(both, FRENCH) == "limité par fake ; mine"
    assert joined([]) is None
    assert joined([limited]) is limited
    assert joined(["one", "two"]) == "one; two"
    assert kept(joined(["one", "two"])) is None


def test_a_stored_sentence_comes_back_only_with_its_own_text() -> None:
    sentence = say("paused_because", why=say("no_reason_kept"))
    back = restored(str(sentence), kept(sentence))
    assert isinstance(back, Sentence)
    assert (back, render(back, FRENCH)) == (sentence, "en pause : aucune raison")
    other = restored("another text, written by an older version", kept(sentence))
    assert not isinstance(other, Sentence)
    assert restored(None, kept(sentence)) is None
    assert not isinstance(restored("text", None), Sentence)


def test_a_text_that_was_cut_is_still_recognised() -> None:
    sentence = say("paused_because", why="x" * 100)
    assert isinstance(restored(sentence[:50], kept(sentence, sentence[:50])), Sentence)


def test_a_sentence_with_very_large_parameters_is_stored_as_text_alone() -> None:
    assert kept(say("paused_because", why="x" * KEPT_LENGTH)) is None
    shorter = say("paused_because", why=["x" * 5_000] * 9).changed(str)
    assert kept(shorter) is not None


def test_every_text_in_the_parameters_is_changed() -> None:
    inner = say("rate_limited", service="secret")
    sentence = say("several", reasons=[inner, "secret \0"]).changed(lambda text: text.replace("secret", "…"))
    assert "secret" not in str(sentence)
    assert "secret" not in (kept(sentence) or "secret")


def test_a_catalogue_with_other_gaps_in_another_language_is_refused() -> None:
    with pytest.raises(BadPipeline, match=r"own\.gone has different placeholders in zh"):
        Catalogue("own", {"gone": "{name} is gone"}, {"zh": {"gone": "{file} 不见了"}})
    with pytest.raises(BadPipeline, match=r"own\.new"):
        Catalogue("own", {"gone": "{name} is gone"}, {"zh": {"new": "{name}"}})


@pytest.mark.parametrize("code", sorted(catalogue.ENGLISH))
def test_the_brackets_of_every_template_close(code: str) -> None:
    template = catalogue.ENGLISH[code]
    assert template.count("[[") == template.count("]]")
    assert ENGLISH.templates[code] == template
