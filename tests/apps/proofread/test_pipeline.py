"""What the pipelines make of books and of every kind of answer, on the engine for tests."""

import json
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.proofread import proofread, translate
from fanfold.apps.proofread.checks import first_difference
from fanfold.testing import Engine, busy, cut_off, filtered, quota_used_up
from tests.apps.proofread.answering import MARK, each, paragraphs, replacing, told
from tests.apps.proofread.archives import docx, epub

NOVEL = """Chapter 1

It was a dark and stormy nigth. The rain fell in torrents.

"Who is there?" asked Mr Holmes, who had 3 pipes.

Chapter 2

The morning came, and teh rain was over.
"""
CORRECT = replacing(("nigth", "night"), ("teh", "the"))


def submitted(engine: Engine, path: Path, pipeline: ff.Pipeline = proofread, **options: Any) -> ff.Task:
    """The task of a book, with all done that can be."""
    task = engine.submit(pipeline, path, options={"model": "openai:large", **options}, straight_through=True)
    engine.run()
    return engine.task(task)


def text_of(engine: Engine, task: ff.Task) -> str:
    return str(engine.result(task)["file"].read_text())


def report_of(engine: Engine, task: ff.Task) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(engine.result(task)["report"].read_text())
    return found


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text(NOVEL, encoding="utf-8")
    return path


def test_a_book_is_corrected_and_nothing_else_changes(engine: Engine, novel: Path) -> None:
    engine.answer(each(CORRECT))
    task = submitted(engine, novel)
    assert (task.state, task.degraded, task.word) == ("completed", 0, "done")
    assert text_of(engine, task) == CORRECT(NOVEL)
    assert engine.result(task)["changes"] == 2


def test_a_translation_is_written_in_the_format_of_its_source(engine: Engine, novel: Path) -> None:
    engine.answer(each(lambda text: "他说：" + "雨" * (len(text) // 3)))
    task = submitted(engine, novel, translate, to="zh")
    assert task.state == "completed"
    lines = text_of(engine, task).splitlines()
    assert len(lines) == len(NOVEL.splitlines())
    assert lines[0].startswith("他说：")


RAIN = "雨下得很急，像有人把整座城的灯都拧灭了。\n\n他站在门口，等了三分钟。\n\n后来，天亮了。\n"


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    path = tmp_path / "rain.txt"
    path.write_text("".join(f"　　{line}\n\n" for line in RAIN.split("\n\n")), encoding="utf-8")
    return path


def test_the_question_has_the_contract_the_context_and_numbered_paragraphs(engine: Engine, novel: Path) -> None:
    engine.answer(each(CORRECT))
    submitted(engine, novel, style="Use British spelling.", chunk_size=100)
    first, second, third = sorted(engine.requests, key=lambda one: NOVEL.index(paragraphs(one.prompt)[1]))
    assert "Change as few characters as possible" in str(first.system)
    assert "Use British spelling." in str(first.system)
    assert "only to read, not to answer:\nChapter 1\nIt was a dark" in second.prompt
    assert "asked Mr Holmes" in first.prompt
    assert paragraphs(third.prompt) == {1: "Chapter 2", 2: "The morning came, and teh rain was over."}


def test_a_rejected_answer_is_asked_again_with_its_defect_and_good_paragraphs_are_kept(
    engine: Engine, novel: Path
) -> None:
    engine.answers(each(lambda text: text.replace("3 pipes", "4 pipes").replace("nigth", "night")))
    engine.answer(each(CORRECT))
    task = submitted(engine, novel, chunk_size=150)
    asked = engine.requests[1]
    assert paragraphs(asked.prompt) == {1: '"Who is there?" asked Mr Holmes, who had 3 pipes.'}
    assert "paragraph 1: numbers were changed: missing 3, new 4" in asked.prompt
    assert (task.degraded, text_of(engine, task)) == (0, CORRECT(NOVEL))
    assert report_of(engine, task)["defects"] == {"numbers_changed": 1}


def test_a_paragraph_without_a_good_answer_is_a_visible_gap_and_keeps_its_source(engine: Engine, novel: Path) -> None:
    engine.answer(each(lambda text: text.replace("3 pipes", "4 pipes").replace("nigth", "night")))
    task = submitted(engine, novel)
    assert (task.state, task.degraded) == ("completed", 1)
    assert "3 pipes" in text_of(engine, task)
    assert "stormy night" in text_of(engine, task)
    [gap] = report_of(engine, task)["gaps"]
    assert gap == {"chunk": "1", "paragraph": "3", "why": "numbers were changed: missing 3, new 4"}
    assert "1 paragraph keeps the source text" in str(engine.items(task)[0].degraded)


def test_a_redo_of_a_degraded_chunk_asks_only_about_its_gaps(engine: Engine, novel: Path) -> None:
    engine.answer(each(lambda text: text.replace("3 pipes", "4 pipes").replace("nigth", "night")), model="large")
    engine.answer(each(lambda text: text.replace("who had", "with")), model="other")
    task = submitted(engine, novel)
    before = len(engine.requests)
    engine.client.retry(task.id, degraded=True, options={"model": "openai:other"})
    engine.run()
    [again] = engine.requests[before:]
    assert list(paragraphs(again.prompt).values()) == ['"Who is there?" asked Mr Holmes, who had 3 pipes.']
    assert (engine.task(task).degraded, engine.result(task)["gaps"]) == (0, 0)
    assert "stormy night." in text_of(engine, task)
    assert "Mr Holmes, with 3 pipes" in text_of(engine, task)


def test_the_next_model_is_asked_only_about_what_the_first_could_not_do(engine: Engine, novel: Path) -> None:
    engine.answer(each(lambda text: text.replace("3 pipes", "4 pipes")), model="large")
    engine.answer(each(CORRECT), model="small")
    task = submitted(engine, novel, fallback=["openai:small"])
    assert [len(paragraphs(one.prompt)) for one in engine.requests if one.model == "small"] == [1]
    assert text_of(engine, task).count("nigth") == 1
    assert report_of(engine, task)["models"] == {"openai:large": 4, "openai:small": 1}
    assert "openai:small" in str(engine.items(task)[0].degraded)


def test_a_cut_off_answer_is_asked_in_halves(engine: Engine, novel: Path) -> None:
    def answer(request: Any) -> Any:
        whole = each(CORRECT)(request)
        return cut_off(whole[:80]) if len(paragraphs(request.prompt)) > 2 else whole

    engine.answer(answer)
    task = submitted(engine, novel, chunk_size=150)
    assert (task.degraded, text_of(engine, task)) == (0, CORRECT(NOVEL))
    assert {len(paragraphs(one.prompt)) for one in engine.requests} == {1, 2, 3}


def test_a_refused_paragraph_goes_to_the_next_model_and_otherwise_stays(engine: Engine, novel: Path) -> None:
    engine.answer(lambda request: filtered() if "Holmes" in request.prompt else each(CORRECT)(request))
    task = submitted(engine, novel)
    assert (task.state, task.degraded) == ("completed", 1)
    assert "the model refused to answer" in str(engine.items(task)[0].degraded)
    assert text_of(engine, task) == CORRECT(NOVEL)
    assert [gap["paragraph"] for gap in report_of(engine, task)["gaps"]] == ["3"]


def test_a_service_that_fails_is_an_error_of_the_chunk_and_the_others_are_kept(engine: Engine, novel: Path) -> None:
    engine.answer(busy(), to=lambda request: "Holmes" in request.prompt.rpartition(MARK)[2])
    engine.answer(each(CORRECT))
    task = submitted(engine, novel, chunk_size=100)
    assert (task.state, task.word, task.failed) == ("partial", "error", 1)
    [failed] = [item for item in engine.items(task) if item.state == "failed"]
    assert (failed.word, failed.failures) == ("error", 4)
    assert "500" in str(failed.error_message)
    engine.client.merge(task.id)
    engine.run()
    text = text_of(engine, task)
    assert "Mr Holmes" in text
    assert "and the rain" in text
    assert engine.result(task)["gaps"] > 0


def test_in_format_mode_merged_paragraphs_get_their_own_text_back_without_another_call(
    engine: Engine, rain: Path
) -> None:
    def merging(request: Any) -> str:
        texts = list(paragraphs(request.prompt).values())
        return told({1: "".join(texts).replace("，", ",")})

    engine.answer(merging)
    task = submitted(engine, rain, mode="format")
    assert (len(engine.requests), task.degraded) == (1, 0)
    assert first_difference(rain.read_text(), text_of(engine, task)) is None
    assert text_of(engine, task) == rain.read_text().rstrip("\n") + "\n\n"
    assert report_of(engine, task)["cleanings"] == {"aligned": 1}


def test_a_paragraph_that_occurs_often_is_paid_for_once(engine: Engine, tmp_path: Path) -> None:
    notice = "This chapter was first published on a website. Please do not copy it anywhere else without asking."
    path = tmp_path / "novel.txt"
    path.write_text("".join(f"Line {at} of teh book.\n\n{notice}\n\n" for at in range(40)))
    engine.answer(each(CORRECT))
    task = submitted(engine, path, chunk_size=200)
    asked = [one for one in engine.requests if notice in paragraphs(one.prompt).values()]
    assert (len(asked), len(engine.items(task)) > 5) == (1, True)
    assert text_of(engine, task) == CORRECT(path.read_text())


def test_broken_bytes_are_reported_and_the_book_is_complete(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "broken.txt"
    raw = "雨下得很急。\n天亮了。\n".encode("gb18030")
    path.write_bytes(raw[:2] + b"\xff" + raw[2:])
    engine.answer(each(lambda text: text))
    task = submitted(engine, path, rules=["none"])
    assert engine.result(task)["file"].read_bytes() == path.read_bytes()
    [note] = report_of(engine, task)["notes"]
    assert "the first is at byte 2" in note
    assert note in str(engine.items(task)[0].degraded)


def test_a_line_of_twenty_thousand_characters_is_divided_and_joined_again(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("雨下得很急，他走了。" * 2_000)
    engine.answer(each(replacing(("他走", "她走"))))
    task = submitted(engine, path, rules=["none"])
    assert len(engine.items(task)) > 10
    assert text_of(engine, task) == "雨下得很急，她走了。" * 2_000


@pytest.mark.parametrize("name", ["book.epub", "rain.docx", "notes.md"])
def test_a_book_without_changes_is_the_same_file(engine: Engine, tmp_path: Path, name: str) -> None:
    data = {"book.epub": epub(), "rain.docx": docx(), "notes.md": "# 雨\n\n`code` 和 [链接](x.md)。\n".encode()}[name]
    path = tmp_path / name
    path.write_bytes(data)
    engine.answer(each(lambda text: text))
    task = submitted(engine, path, rules=["none"])
    assert engine.result(task)["file"].read_bytes() == data


def test_rules_alone_need_no_model(engine: Engine, rain: Path) -> None:
    task = submitted(engine, rain, rules_only=True)
    assert (task.state, len(engine.requests)) == ("completed", 0)


def test_an_answer_in_the_encoding_of_the_source_or_in_utf_8(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "rain.txt"
    path.write_bytes(RAIN.encode("gb18030"))
    engine.answer(each(lambda text: text))
    kept = submitted(engine, path, rules=["none"])
    assert engine.result(kept)["file"].read_bytes() == RAIN.encode("gb18030")
    changed = submitted(engine, path, rules=["none"], encoding="utf-8")
    assert engine.result(changed)["file"].read_text() == RAIN


@pytest.mark.parametrize(
    ("content", "name", "told"),
    [
        (b"", "empty.txt", "is empty"),
        (b"PK\x03\x04", "book.epub", "is damaged"),
        (b"%PDF-1.7", "book.txt", "looks like a PDF"),
    ],
)
def test_a_file_that_cannot_be_read_fails_with_clear_words(
    engine: Engine, tmp_path: Path, content: bytes, name: str, told: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    task = submitted(engine, path)
    assert (task.state, task.word) == ("failed", "error")
    assert told in str(task.error_message)
    assert name in str(task.error_message)


def test_control_characters_and_new_line_breaks_of_an_answer_are_removed_and_counted(
    engine: Engine, novel: Path
) -> None:
    broken = replacing(("dark", "da\ud800r\x00k"), ("The rain", "\nThe rain"))
    texts = {at: broken(CORRECT(text)) for at, text in enumerate(filter(None, NOVEL.split("\n")), 1)}
    engine.answer(json.dumps({"paragraphs": [{"id": at, "text": text} for at, text in texts.items()]}))
    task = submitted(engine, novel, rules=["none"])
    assert (task.degraded, text_of(engine, task)) == (0, CORRECT(NOVEL))
    assert report_of(engine, task)["cleanings"] == {"control_characters": 1, "line_breaks": 1}


def test_if_the_daily_quota_of_a_model_is_used_up_the_next_one_is_asked(engine: Engine, novel: Path) -> None:
    engine.answer(quota_used_up(), model="large")
    engine.answer(each(CORRECT), model="small")
    task = submitted(engine, novel, fallback=["openai:small"])
    assert (task.state, text_of(engine, task)) == ("completed", CORRECT(NOVEL))
    assert [one.model for one in engine.requests] == ["large", "small"]
    assert "rejected" not in engine.requests[-1].prompt
    assert set(report_of(engine, task)["models"]) == {"openai:small"}
    assert report_of(engine, task)["defects"] == {"unavailable": 1}


@pytest.mark.parametrize("text", ["word " * 400 + "end", "　　" + "雨下得很急，" * 300 + "停了。", "雨 夜 " * 300])
@pytest.mark.parametrize("is_asked", [True, False])
def test_a_long_paragraph_is_put_together_as_it_was(engine: Engine, tmp_path: Path, text: str, is_asked: bool) -> None:
    """Words are not joined where it was divided, and its indentation is not doubled."""
    path = tmp_path / "novel.txt"
    path.write_text(text.strip(" ") + "\n", encoding="utf-8")
    engine.answer(each(str))
    task = submitted(engine, path, chunk_size=203, rules=["-punctuation_blanks"], rules_only=not is_asked)
    indent = "" if "word" in text else "　　"
    assert text_of(engine, task) == indent + text.strip(" 　") + "\n"
