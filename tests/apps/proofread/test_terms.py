"""The glossary of a translation: collected, approved at a gate, sent where it occurs, checked, and changed afterwards."""

import json
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.proofread import translate
from fanfold.testing import Engine
from tests.apps.proofread.answering import MARK, in_english, paragraphs, replacing, told
from tests.apps.proofread.test_pipeline import text_of

BOOK = "第一章\n\n白栀站在城门口，雨下得很急。\n\n第二章\n\n老板说：今天不开门。\n"
TERMS = [
    {"source": "白栀", "target": "Bai Zhi", "kind": "person", "note": ""},
    {"source": "老板", "target": "Boss", "kind": "title", "note": ""},
    {"source": "不在书里", "target": "Not there", "kind": "term", "note": ""},
]
OPTIONS = {"model": "openai:large", "to": "en", "chunk_size": 20}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text(BOOK)
    return path


def translator(*names: tuple[str, str]) -> Any:
    """A model that knows the terms of the book, and translates names like this."""

    def answer(request: Any) -> str:
        if MARK in request.prompt:
            texts = {at: in_english(replacing(*names)(text)) for at, text in paragraphs(request.prompt).items()}
            return told(texts)
        if "glossary" in str(request.system):
            return json.dumps({"terms": TERMS, "summary": "It rains on Bai Zhi."}, ensure_ascii=False)
        return "A book about rain."

    return answer


def glossary(engine: Engine, task: ff.Task) -> str:
    with engine.client.make_form(task.id, "glossary", partial=True) as made:
        return made.path.read_text()


def asked(engine: Engine) -> list[str]:
    return [request.prompt for request in engine.requests if MARK in request.prompt]


def passed(engine: Engine, task: ff.Task) -> ff.Task:
    """The task after all gates."""
    while engine.task(task).state == "waiting":
        engine.client.resume(task.id)
        engine.run()
    return engine.task(task)


def test_terms_are_collected_and_approved_and_only_those_that_occur_are_sent(engine: Engine, book: Path) -> None:
    engine.answer(translator(("白栀", "Gardenia"), ("老板", "Boss")))
    task = engine.submit(translate, book, options=OPTIONS)
    engine.run()
    waiting = engine.task(task)
    assert (waiting.word, waiting.phase) == ("paused", "validate")
    assert glossary(engine, task) == "source,target,kind,note\n白栀,Bai Zhi,person,\n老板,Boss,title,\n"
    approved = "source,target\n白栀,Gardenia\n城门,gate|It rained\n"
    outcome = engine.client.do(task.id, "glossary", {"glossary": approved})
    assert outcome.message == "The translation will use 2 terms, 1 of them new. Resume the task to continue."
    assert (passed(engine, task).state, engine.task(task).degraded) == ("completed", 0)
    with_name = [prompt for prompt in asked(engine) if "白栀" in prompt.rpartition(MARK)[2]]
    assert all("- 白栀 → Gardenia" in prompt and "- 城门 → gate or It rained" in prompt for prompt in with_name)
    others = [prompt for prompt in asked(engine) if prompt not in with_name]
    assert others
    assert not any("Glossary" in prompt for prompt in others)
    assert "You translate a book into English (en)" in str(engine.requests[-1].system)
    assert all("What the book is about:\nIt rains on Bai Zhi." in prompt for prompt in asked(engine))


def test_a_term_is_decided_about_like_any_other_part(engine: Engine, book: Path) -> None:
    engine.answer(translator(("老板", "Boss")))
    task = engine.submit(translate, book, options=OPTIONS)
    engine.run()
    [section] = engine.client.results(task.id, "terms")
    parts = {term["source"]: term["part"] for term in section.output["terms"]}
    engine.client.decide(task.id, section.key, parts["白栀"], "reject", stage="terms")
    engine.client.decide(task.id, section.key, parts["老板"], "replace", "Owner", stage="terms")
    assert glossary(engine, task) == "source,target,kind,note\n老板,Owner,title,\n"


def test_a_translation_that_ignores_the_glossary_is_asked_again_with_the_term(engine: Engine, book: Path) -> None:
    engine.answer(translator(), to=lambda request: MARK not in request.prompt)
    engine.answer(translator(("白栀", "Bai Zhi"), ("老板", "Boss")), to="An earlier answer was rejected")
    engine.answer(translator())
    task = engine.submit(translate, book, options=OPTIONS, straight_through=True)
    engine.run()
    assert engine.task(task).degraded == 0
    assert "Bai Zhi" in text_of(engine, task)
    assert any("these terms of the glossary were not used: 白栀 → Bai Zhi" in prompt for prompt in asked(engine))


def test_a_given_glossary_needs_no_collecting(engine: Engine, book: Path) -> None:
    engine.answer(translator(("白栀", "Gardenia")))
    options = OPTIONS | {"glossary": "白栀,Gardenia\n"}
    task = engine.submit(translate, book, options=options, straight_through=True)
    engine.run()
    assert (engine.task(task).degraded, len(asked(engine))) == (0, len(engine.requests))
    assert "Gardenia" in text_of(engine, task)


def test_after_a_change_of_the_glossary_only_what_breaks_it_is_asked_again(engine: Engine, book: Path) -> None:
    engine.answer(translator(("白栀", "Gardenia")), to="白栀 → Gardenia")
    engine.answer(translator(("白栀", "Bai Zhi"), ("老板", "Boss")))
    task = engine.submit(translate, book, options=OPTIONS | {"chunk_size": 500}, straight_through=True)
    engine.run()
    before = len(engine.requests)
    engine.client.do(task.id, "glossary", {"glossary": "白栀,Gardenia\n老板,Boss\n"})
    engine.run()
    [again] = engine.requests[before:]
    assert list(paragraphs(again.prompt).values()) == ["白栀站在城门口，雨下得很急。"]
    assert "Gardenia" in text_of(engine, task)
    assert "Boss" in text_of(engine, task)
    with pytest.raises(ff.ActionFailed, match="No paragraph breaks this glossary"):
        engine.client.do(task.id, "glossary", {"glossary": "白栀,Gardenia\n"})


def test_sections_without_a_usable_answer_do_not_stop_the_translation(engine: Engine, book: Path) -> None:
    engine.answer(lambda request: translator()(request) if MARK in request.prompt else "I like this book.")
    task = engine.submit(translate, book, options=OPTIONS, straight_through=True)
    engine.run()
    assert engine.task(task).state == "completed"
    assert "no names and terms" in str(engine.items(task, "terms")[0].degraded)


def test_a_language_that_is_only_named_like_the_source_is_caught(engine: Engine, book: Path) -> None:
    engine.answer(lambda request: told(paragraphs(request.prompt)) if MARK in request.prompt else translator()(request))
    task = engine.submit(translate, book, options=OPTIONS | {"terms": "never"}, straight_through=True)
    engine.run()
    assert engine.task(task).degraded == 2
    assert text_of(engine, task) == BOOK
