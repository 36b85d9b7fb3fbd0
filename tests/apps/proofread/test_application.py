"""What the application declares: every text has a translation, missing libraries are named, and a book has a price."""

import importlib.util
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.apps.proofread import chinese, proofread, translate
from fanfold.apps.proofread.options import Options
from fanfold.testing import Engine, answer
from tests.apps.proofread.answering import each, in_english
from tests.apps.proofread.test_pipeline import CORRECT, text_of


def texts() -> list[str]:
    """Everything that the page shows of the application."""
    found = [proofread.title, translate.title]
    for pipeline in (proofread, translate):
        options = [one for one in pipeline.declared.values() if not one.hidden]
        for action in pipeline.actions.values():
            found += [action.label, action.help]
            options += action.options.values()
        for option in options:
            found += [option.title, option.help, *option.choices, *filter(None, (option.group, option.unit))]
        found += [form.label for form in pipeline.forms.values()]
        found += [stage.planned.phase or stage.name for stage in pipeline.stages.values()]
        found += [*pipeline.words.task.values(), *pipeline.words.item.values(), *pipeline.unit]
    return found


@pytest.mark.parametrize("text", sorted(set(texts())))
def test_every_text_of_the_application_has_a_chinese_translation(text: str) -> None:
    assert chinese.WORDS.get(text)


def test_without_the_libraries_a_task_is_refused_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(
        "fanfold.apps.proofread.options.find_spec", lambda name: None if name == "rapidfuzz" else known(name)
    )
    with pytest.raises(ff.Permanent, match=r"pip install 'fanfold\[proofread\]'"):
        Options.of_proofread({})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"mode": "shout"}, "mode"),
        ({"rules": ["nonsense"]}, "There is no rule 'nonsense'"),
        ({"glossary": ",no source\n"}, "Line 1 of the glossary"),
        ({"chunk_size": 100_000}, "chunk_size"),
        ({"source_encoding": "klingon"}, "There is no encoding 'klingon'"),
    ],
)
def test_a_mistake_in_an_option_is_told_before_anything_is_stored(
    engine: Engine, tmp_path: Path, given: dict[str, object], told: str
) -> None:
    path = tmp_path / "novel.txt"
    path.write_text("It rained.")
    with pytest.raises(ff.BadInput, match=told):
        engine.submit(proofread, path, options=given)
    assert engine.client.list() == []


def test_a_translation_must_name_its_language(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "novel.txt").write_text("It rained.")
    with pytest.raises(ff.BadInput, match="needs the language"):
        engine.submit(translate, tmp_path / "novel.txt")
    with pytest.raises(ff.BadInput, match=r"'\.\./zh' is not the code of a language"):
        engine.submit(translate, tmp_path / "novel.txt", options={"to": "../zh"})


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text("\n\n".join(f"Paragraph {at} was written in teh night of storm {at}." for at in range(200)))
    return path


def test_an_estimate_counts_chunks_and_sections_and_asks_nobody(engine: Engine, novel: Path) -> None:
    engine.know(proofread)
    engine.know(translate)
    options = {"model": "openai:gpt-5-mini", "chunk_size": 1_000}
    made = engine.client.estimate(proofread, novel, options=options)
    task = engine.submit(proofread, novel, options=options)
    engine.run()
    assert made.calls == engine.task(task).total
    assert made.live.expected is not None
    assert engine.client.estimate(proofread, novel, options=options | {"rules_only": True}).calls in (0, None)
    translated = engine.client.estimate(translate, novel, options=options | {"to": "zh"})
    assert translated.calls == made.calls + 1
    assert engine.requests == ()


def test_a_budget_pauses_the_task_and_raising_it_asks_only_for_the_rest(engine: Engine, novel: Path) -> None:
    engine.answer(lambda request: answer(each(CORRECT)(request), cost=0.01))
    options = {"model": "openai:gpt-5-mini", "chunk_size": 1_000}
    task = engine.submit(proofread, novel, options=options, budget="0.035", straight_through=True)
    engine.run(advance_clock=False)
    assert engine.task(task).state == "paused"
    asked = len(engine.requests)
    assert 0 < asked < engine.task(task).total
    engine.client.raise_budget(task.id, to="1")
    engine.run()
    assert (engine.task(task).state, len(engine.requests)) == ("completed", engine.task(task).total)
    assert text_of(engine, task) == CORRECT(novel.read_text())


def test_the_usual_length_of_a_translation_is_learned_from_the_book(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "rain.txt"
    path.write_text("\n\n".join(f"雨下得很急，他在第{at}个路口等了很久很久。" for at in range(30)))
    engine.answers(*[each(lambda text: in_english(text) * 2)] * 3)
    engine.answer(each(lambda text: "It." if "第29个" in text else in_english(text) * 2))
    options = {"model": "openai:large", "to": "en", "terms": "never", "chunk_size": 200}
    task = engine.submit(translate, path, options=options, straight_through=True)
    engine.run()
    assert engine.task(task).degraded == 1
    [reason] = {str(item.degraded) for item in engine.items(task, "process") if item.degraded}
    assert "the answer has 3 characters, the source" in reason
