"""What the application declares: every text of it has a translation, and the command runs without its libraries to say so."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.extract import chinese, extract
from fanfold.apps.extract.options import Options
from fanfold.apps.extract.pipeline import page_picture
from fanfold.apps.extract.suggesting import suggest
from fanfold.testing import Engine, answer
from tests.apps.extract.answering import honest
from tests.apps.extract.test_pipeline import KNOWN, PAPER, TEMPLATE


def texts() -> list[str]:
    """Everything that the page shows of the application."""
    found = [extract.title, suggest.title]
    for pipeline in (extract, suggest):
        options = [one for one in pipeline.declared.values() if not one.hidden]
        for action in pipeline.actions.values():
            found += [action.label, action.help]
            options += action.options.values()
        for option in options:
            found += [option.title, option.help, *option.choices, *([option.group] if option.group else [])]
        found += [form.label for form in pipeline.forms.values()]
        found += [text for kind in pipeline.template_kinds.values() for text in (kind.label, kind.help)]
    return [text for text in found if text not in ("Provider",)]


@pytest.mark.parametrize("text", sorted(set(texts())))
def test_every_text_of_the_application_has_a_chinese_translation(text: str) -> None:
    assert chinese.WORDS.get(text)


def test_without_the_libraries_a_task_is_refused_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(
        "fanfold.apps.extract.options.find_spec", lambda name: None if name == "rapidfuzz" else known(name)
    )
    with pytest.raises(ff.Permanent, match=r"pip install 'fanfold\[extract\]'"):
        Options.of({"template": TEMPLATE})


def test_an_estimate_counts_the_calls_of_all_groups_and_windows(engine: Engine) -> None:
    wide = "\n".join(f"f{number}: What is it?" for number in range(20))
    items = [ff.NewItem(str(number), {"text": PAPER * (1 if number % 2 else 400)}) for number in range(40)]
    engine.know(extract)
    made = engine.client.estimate(extract, items=items, options={"template": wide, "model": "openai:gpt-5-mini"})
    assert made.calls == 80
    assert made.live.expected is not None
    narrow = {"template": "n: integer", "model": "openai:gpt-5-mini", "context": 10_000}
    divided = engine.client.estimate(extract, items=items, options=narrow)
    assert divided.calls is not None
    assert divided.calls > 80


def test_a_template_is_drafted_from_samples_and_can_be_used_at_once(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "paper.txt").write_text(PAPER)
    fields = [
        {"name": "sample_size", "type": "integer", "question": "How many people took part?", "choices": []},
        {"name": "design", "type": "string", "question": "Which design: see methods?", "choices": ["RCT", "cohort"]},
    ]
    engine.answers("I suggest these columns.", json.dumps({"fields": fields}))
    task = engine.submit(
        suggest, tmp_path / "paper.txt", options={"purpose": "trials: statins", "model": "openai:large"}
    )
    engine.run()
    draft = engine.result(task)
    assert "sample_size: integer — How many people took part?" in draft
    assert "trials: statins" in engine.requests[0].prompt
    assert "We enrolled 1,240 people" in engine.requests[0].prompt
    engine.answer(honest(KNOWN))
    used = engine.submit(extract, items=[{"text": PAPER}], options={"template": draft, "model": "openai:large"})
    engine.run()
    assert engine.result(used)["columns"] == ["sample_size", "design"]


def test_a_kept_template_is_used_by_name_and_its_mistakes_are_found_before_it_is_kept(engine: Engine) -> None:
    engine.know(extract)
    with pytest.raises(ff.BadTemplate, match="Did you mean minimum"):
        engine.client.templates.save("extract", "trials", "n: {minimun: 1}")
    engine.client.templates.save("extract", "trials", "n: integer — How many?")
    engine.answer(honest({"n": (1240, "We enrolled 1,240 people")}))
    options = {"template": "trials", "model": "openai:large"}
    task = engine.submit(extract, items=[{"text": PAPER}], options=options)
    engine.run()
    assert engine.result(task)["cells"] == {"ok": 1}


def test_a_budget_pauses_the_task_and_raising_it_asks_only_for_the_rest(engine: Engine) -> None:
    engine.answer(lambda request: answer(honest(KNOWN)(request), cost=0.01))
    items = [ff.NewItem(str(number), {"text": f"{PAPER} {number}"}) for number in range(101, 111)]
    options = {"template": TEMPLATE, "model": "openai:gpt-5-mini"}
    task = engine.submit(extract, items=items, options=options, budget="0.035")
    engine.run(advance_clock=False)
    assert engine.task(task).state == "paused"
    asked = len(engine.requests)
    assert 0 < asked < 10
    engine.client.raise_budget(task.id, to="1")
    engine.run()
    assert (engine.task(task).state, len(engine.requests)) == ("completed", 10)


def test_documents_are_read_from_pdf_files(engine: Engine, tmp_path: Path) -> None:
    from tests.apps.pdf.making import make_pdf

    path = make_pdf(
        tmp_path / "paper.pdf", ["Statins in Sweden. We enrolled 1,240 people in a randomised controlled trial."]
    )
    engine.answer(honest(KNOWN))
    task = engine.submit(extract, path, options={"template": TEMPLATE, "model": "openai:large"})
    engine.run()
    key = engine.items(task, "extract")[0].key
    record: Any = engine.item(task, key, "extract").output
    place = record["fields"]["sample_size"]["evidence"][0]
    assert (record["fields"]["sample_size"]["state"], place["page"]) == ("ok", 1)
    assert 0 < place["boxes"][0]["width"] < 1
    for stage in ("read", "extract"):
        assert page_picture(engine.item(task, key, stage).input, 1).startswith(b"\xff\xd8")


def test_only_a_pdf_has_pictures_of_its_pages(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "paper.txt").write_text(PAPER)
    task = engine.submit(extract, tmp_path / "paper.txt", options={"template": TEMPLATE, "model": "openai:large"})
    [item] = engine.items(task, "read")
    with pytest.raises(ff.Permanent, match="no pages"):
        page_picture(engine.item(task, item.key, "read").input)


def test_an_extraction_without_a_model_is_refused_before_it_begins(engine: Engine) -> None:
    with pytest.raises(ff.BadInput, match="asks a model, and `local` is not one"):
        engine.submit(extract, items=[{"text": PAPER}], options={"template": TEMPLATE, "provider": "local"})
