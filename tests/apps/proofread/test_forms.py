"""The forms of a result: the book, differences, tracked changes, lists, bilingual texts, and the report."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.apps.proofread import proofread, translate
from fanfold.testing import Engine
from tests.apps.proofread.answering import each, in_english, replacing
from tests.apps.proofread.archives import docx, members_of
from tests.apps.proofread.test_pipeline import CORRECT, NOVEL, submitted


def form(engine: Engine, task: ff.Task, name: str) -> bytes:
    with engine.client.make_form(task.id, name) as made:
        return made.path.read_bytes()


@pytest.fixture
def corrected(engine: Engine, tmp_path: Path) -> ff.Task:
    """The task of a corrected novel."""
    path = tmp_path / "novel.txt"
    path.write_text(NOVEL, encoding="utf-8")
    engine.answer(each(CORRECT))
    return submitted(engine, path)


@pytest.fixture
def translated(engine: Engine, tmp_path: Path) -> ff.Task:
    """The task of a translated text."""
    path = tmp_path / "雨.txt"
    path.write_text("第一章\n\n雨下得很急，像有人把灯拧灭了。\n", encoding="utf-8")
    engine.answer(each(in_english))
    return submitted(engine, path, translate, to="en", terms="never")


def test_the_book_keeps_its_format_and_has_a_name_of_its_own(engine: Engine, corrected: ff.Task) -> None:
    with engine.client.make_form(corrected.id, "book") as made:
        assert (made.name, made.path.read_text()) == ("novel.proofread.txt", CORRECT(NOVEL))


def test_differences_show_what_was_changed(engine: Engine, corrected: ff.Task) -> None:
    page = form(engine, corrected, "html").decode()
    assert "<del>nigth</del>" in page
    assert "<ins>night</ins>" in page
    assert "http" not in page
    diff = form(engine, corrected, "diff").decode().splitlines()
    assert "-It was a dark and stormy nigth. The rain fell in torrents." in diff
    assert "+It was a dark and stormy night. The rain fell in torrents." in diff


def test_changes_are_listed_as_csv_and_json_lines(engine: Engine, corrected: ff.Task) -> None:
    rows = list(csv.DictReader(io.StringIO(form(engine, corrected, "csv").decode())))
    assert [(row["before"], row["after"], row["chapter"]) for row in rows] == [
        ("nigth", "night", "Chapter 1"),
        ("teh", "the", "Chapter 2"),
    ]
    lines = [json.loads(line) for line in form(engine, corrected, "jsonl").decode().splitlines()]
    assert [(line["part"], line["state"]) for line in lines] == [(row["part"], "open") for row in rows]


def test_a_text_becomes_a_word_document_with_tracked_changes(engine: Engine, corrected: ff.Task) -> None:
    document = members_of(form(engine, corrected, "docx"))["word/document.xml"].decode()
    assert "<w:delText" in document
    assert document.count("<w:ins ") == document.count("<w:del ") == 2
    assert ">nigth</w:delText>" in document


def test_a_word_document_keeps_everything_beside_its_tracked_changes(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "rain.docx"
    path.write_bytes(docx())
    engine.answer(each(replacing(("雨下得", "雪下得"))))
    task = submitted(engine, path)
    members = members_of(form(engine, task, "docx"))
    before = members_of(docx())
    assert {name for name in members if members[name] != before[name]} == {"word/document.xml"}
    assert ">雨</w:delText>" in members["word/document.xml"].decode()
    clean = members_of(form(engine, task, "book"))["word/document.xml"].decode()
    assert "雪下得" in clean
    assert "w:del" not in clean


def test_a_translation_has_bilingual_forms_and_a_memory(engine: Engine, translated: ff.Task) -> None:
    below = form(engine, translated, "bilingual").decode()
    assert "雨下得很急，像有人把灯拧灭了。\nIt rained，It rained。\n" in below
    beside = form(engine, translated, "beside").decode()
    assert "<p>雨下得很急，像有人把灯拧灭了。</p><p>It rained" in beside
    memory = form(engine, translated, "tmx").decode()
    assert '<tuv xml:lang="zh"><seg>第一章</seg></tuv><tuv xml:lang="en"><seg>It rained</seg></tuv>' in memory


def test_the_report_counts_chunks_models_rules_and_cost(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "雨.txt"
    path.write_text("雨,停了。\n\n天亮了。\n", encoding="utf-8")
    engine.answer(each(replacing(("天亮", "天黑"))))
    report = json.loads(form(engine, submitted(engine, path), "report"))
    assert (report["chunks"], report["models"]) == (1, {"openai:large": 2})
    assert report["rules"] == {"indentation": 2, "punctuation_width": 1}
    assert (report["calls"], report["cost"], report["gaps"]) == (1, 0.01, [])
    assert report["changes"] == {"open": 4}


def test_lists_are_there_while_the_task_runs(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "novel.txt"
    path.write_text(NOVEL, encoding="utf-8")
    engine.answer(each(CORRECT))
    task = engine.submit(proofread, path, options={"model": "openai:large"})
    engine.run()
    engine.client.resume(task.id)
    engine.run()
    assert engine.task(task).state == "waiting"
    with engine.client.make_form(task.id, "jsonl", partial=True) as made:
        assert len(made.path.read_text().splitlines()) == 2
    with pytest.raises(ff.TaskStopped):
        engine.client.make_form(task.id, "book")


def test_a_tracked_document_of_a_new_file_can_be_opened(engine: Engine, corrected: ff.Task, tmp_path: Path) -> None:
    document = pytest.importorskip("docx")
    path = tmp_path / "tracked.docx"
    path.write_bytes(form(engine, corrected, "docx"))
    assert len(document.Document(str(path)).paragraphs) == 5
    assert zipfile.is_zipfile(path)


def test_a_tracked_document_has_every_line_and_long_paragraphs_in_one_piece(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "novel.txt"
    long = "　　" + "雨下得很急。" * 40
    path.write_text(f"　　雨停了.\n\n====\n\n* * *\n\n{long}\n", encoding="utf-8")
    task = submitted(engine, path, rules_only=True, chunk_size=100)
    document = members_of(form(engine, task, "docx"))["word/document.xml"].decode()
    first, removed, scene, last, _ = document.split("</w:p>")
    assert '<w:delText xml:space="preserve">.</w:delText>' in first
    assert '<w:delText xml:space="preserve">====</w:delText>' in removed
    assert "* * *" in scene
    assert long in last
