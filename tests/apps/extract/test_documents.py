"""What a document promises to those who read its lines."""

from pathlib import Path

from fanfold.apps.extract.documents.document import Document, NewLine, RunBox
from fanfold.apps.extract.documents.sources import Source, documents_of


def a_document() -> Document:
    words = [RunBox(0, 3, 0.1, 0.2, 0.06, 0.02), RunBox(4, 7, 0.18, 0.2, 0.06, 0.02)]
    lines = [
        NewLine("A Title", 1, heading=True),
        NewLine("one two", 1, runs=words),
        NewLine("three four", 2, runs=[RunBox(0, 10, 0.1, 0.1, 0.2, 0.02)]),
    ]
    return Document.of("paper.pdf", "ab" * 32, "pdf", lines, pages=2)


def test_offsets_of_the_text_lead_back_to_lines_and_pages() -> None:
    document = a_document()
    assert document.text == "A Title\none two\nthree four"
    for line in document.lines:
        assert document.text[line.start : line.end] == line.text
    assert [document.page_of(document.text.index(word)) for word in ("Title", "two", "three")] == [1, 1, 2]
    assert document.page_of(len(document.text)) == 2


def test_lines_for_a_prompt_have_numbers_and_page_marks() -> None:
    document = a_document()
    assert document.numbered() == "[p. 1]\n1| A Title\n2| one two\n[p. 2]\n3| three four"
    assert document.numbered(2, 2) == "[p. 1]\n2| one two"


def test_the_box_of_a_range_is_the_union_of_its_runs_on_each_line() -> None:
    document = a_document()
    start = document.text.index("two")
    assert document.boxes(start, document.text.index(" four")) == [
        {"page": 1, "x": 0.18, "y": 0.2, "width": 0.06, "height": 0.02},
        {"page": 2, "x": 0.1, "y": 0.1, "width": 0.1, "height": 0.02},
    ]
    assert document.boxes(0, 7) == []


def test_a_saved_document_is_read_as_it_was(tmp_path: Path) -> None:
    document = a_document()
    document.save(tmp_path / "document.json")
    read = Document.load(tmp_path / "document.json")
    assert read == document
    assert read.lines[1].runs == document.lines[1].runs
    assert read.lines[1].runs[1] == RunBox(4, 7, 0.18, 0.2, 0.06, 0.02)


def test_identical_files_are_one_document_with_a_row_each() -> None:
    sources = [
        Source("a.pdf", Path("a.pdf"), "1" * 64, {"group": "x"}, "a.pdf"),
        Source("b.pdf", Path("b.pdf"), "2" * 64),
        Source("copy of a.pdf", Path("c.pdf"), "1" * 64, {"group": "y"}, "c.pdf"),
    ]
    first, second = documents_of(sources)
    assert (first["key"], first["name"], len(second["rows"])) == ("1" * 64, "a.pdf", 1)
    assert first["rows"] == [
        {"name": "a.pdf", "source": "a.pdf", "columns": {"group": "x"}},
        {"name": "copy of a.pdf", "source": "c.pdf", "columns": {"group": "y"}},
    ]
