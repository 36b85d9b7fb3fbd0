"""What is read from each kind of file, and what is said about files that cannot be read."""

import json
import zipfile
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.apps.extract.documents import word_lines
from fanfold.apps.extract.documents.decoding import decode
from fanfold.apps.extract.documents.document import Document
from fanfold.apps.extract.documents.document_sentences import CHINESE, ENGLISH
from fanfold.apps.extract.documents.read_document import hash_of, read_document
from fanfold.apps.extract.evidence.locating import locate
from tests.apps.pdf.making import make_broken, make_encrypted, make_pdf, make_scan
from tests.apps.pdf.writing import Pdf, Sheet


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_pdf_is_read_with_pages_headings_and_boxes(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["# Methods\n\nWe asked 120 people.", "Most of them answered."])
    document = read_document(path, "paper.pdf")
    assert (document.name, document.kind, document.pages, document.sha256) == ("paper.pdf", "pdf", 2, hash_of(path))
    assert [(line.text, line.page, line.heading) for line in document.lines] == [
        ("Methods", 1, True),
        ("We asked 120 people.", 1, False),
        ("Most of them answered.", 2, False),
    ]
    found = locate(document, "Most of them answered")
    assert found is not None
    assert found.page == 2
    assert 0 < found.boxes[0]["width"] < 0.5


def test_running_lines_come_once_and_do_not_interrupt_a_sentence(tmp_path: Path) -> None:
    sheets = []
    for number in range(1, 6):
        sheet = Sheet()
        sheet.frame("Journal of Examples 12 (2020)", number)
        sheet.paragraph(("The patients were seen again and again in the course of the year, " * (number + 3))[:-20])
        sheet.lines(["and the story of this page goes on with number" if number == 2 else "The page ends here."])
        sheets.append(sheet)
    sheets[2].y = 768
    sheets[2].operators.clear()
    sheets[2].frame("Journal of Examples 12 (2020)", 3)
    sheets[2].paragraph("three of the same story, which is told to the end here, and then some more is said about it.")
    path = written(tmp_path / "a.pdf", Pdf(sheets).written())
    document = read_document(path)
    assert sum("Journal of Examples" in line.text for line in document.lines) == 1
    found = locate(document, "the story of this page goes on with number three of the same story")
    assert found is not None
    assert (found.page, found.score) == (2, 100.0)


def test_markdown_headings_are_marked_and_those_in_code_are_not(tmp_path: Path) -> None:
    text = "# Title\n\nText\n\nSub\n---\n\n```\n# no heading\n```\n"
    document = read_document(written(tmp_path / "a.md", text))
    assert [line.text for line in document.lines if line.heading] == ["# Title", "Sub"]
    assert (document.kind, document.pages, document.lines[0].page) == ("markdown", None, None)


def test_a_long_paragraph_is_divided_between_sentences_and_nothing_is_lost(tmp_path: Path) -> None:
    text = "".join(f"This is sentence number {number} of a long paragraph. " for number in range(60))
    document = read_document(written(tmp_path / "a.txt", text))
    assert len(document.lines) > 5
    assert all(len(line.text) <= 300 for line in document.lines)
    assert all(line.text.endswith(".") for line in document.lines)
    assert " ".join(line.text for line in document.lines) == text.strip()


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16", "cp1252"], ids=["utf8", "bom", "gb", "utf16", "cp1252"]
)
def test_text_is_decoded_as_it_was_written(tmp_path: Path, encoding: str) -> None:
    text = "Die Größe der Gruppe wurde für jede Prüfung geändert, um Verzerrungen über die Jahre zu vermeiden. " * 3
    if encoding != "cp1252":
        text += " 本研究共纳入一百二十名患者，平均年龄为四十五岁。" * 5
    document = read_document(written(tmp_path / "a.txt", text.encode(encoding)))
    assert "".join(line.text for line in document.lines).replace(" ", "") == text.replace(" ", "")
    assert document.notes == ()


def test_broken_bytes_are_replaced_and_reported(tmp_path: Path) -> None:
    text = ("本研究共纳入一百二十名患者，平均年龄为四十五岁。" * 10).encode("gb18030")
    document = read_document(written(tmp_path / "a.txt", text[:100] + b"\xff" + text[100:]))
    assert "一百二十名患者" in document.lines[0].text
    assert len(document.notes) == 1
    assert "could not be decoded" in document.notes[0]


def test_mostly_valid_utf8_stays_utf8() -> None:
    text = "naïve café élève " * 20
    found = decode(text.encode()[:50] + b"\xff" + text.encode()[50:])
    assert found.replaced == 1
    assert "naïve café" in found.text


def test_only_the_visible_text_of_a_page_is_read(tmp_path: Path) -> None:
    page = """<!doctype html><html><head><meta charset="utf-8"><title>A Paper</title><style>p {}</style></head>
    <body><script>var secret = 1</script><h1>Results</h1><p>We asked <b>120</b>
    people &amp; more.<br>Then</p><div hidden>hidden words</div><p style="display: none">unseen</p>
    <table><tr><th>Group</th><th>n</th></tr><tr><td>Treated</td><td>104</td></tr></table><!-- comment --></body></html>"""
    document = read_document(written(tmp_path / "a.html", page))
    assert [line.text for line in document.lines] == [
        "A Paper",
        "Results",
        "We asked 120 people & more.",
        "Then",
        "Group\tn",
        "Treated\t104",
    ]
    assert [line.text for line in document.lines if line.heading] == ["A Paper", "Results"]


def test_the_encoding_that_a_page_names_is_used(tmp_path: Path) -> None:
    page = '<html><head><meta charset="shift_jis"></head><body>東京都の患者</body></html>'
    document = read_document(written(tmp_path / "a.html", page.encode("shift_jis")))
    assert document.text == "東京都の患者"


def a_word_document(path: Path) -> Path:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Methods", 1)
    document.add_paragraph("We asked 120 people.")
    table = document.add_table(2, 2)
    for row, cells in zip(table.rows, (("Group", "n"), ("Treated", "104")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    paragraph = document.add_paragraph("They were ")
    for tag, kind, text in (("ins", "t", "very "), ("del", "delText", "not ")):
        change = docx.oxml.OxmlElement(f"w:{tag}")
        run = docx.oxml.OxmlElement("w:r")
        piece = docx.oxml.OxmlElement(f"w:{kind}")
        piece.text = text
        run.append(piece)
        change.append(run)
        paragraph._p.append(change)
    paragraph.add_run("pleased.")
    document.save(str(path))
    return path


def test_a_word_document_is_read_in_order_with_its_tables_and_insertions(tmp_path: Path) -> None:
    document = read_document(a_word_document(tmp_path / "a.docx"))
    assert [(line.text, line.heading) for line in document.lines] == [
        ("Methods", True),
        ("We asked 120 people.", False),
        ("Group\tn", False),
        ("Treated\t104", False),
        ("They were very pleased.", False),
    ]


def test_a_word_document_without_the_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = a_word_document(tmp_path / "a.docx")
    monkeypatch.setattr(word_lines, "available", lambda: False)
    with pytest.raises(ff.Permanent, match=r"pip install 'fanfold\[office\]'"):
        read_document(path)


def test_files_that_cannot_be_read_say_the_fact_and_the_way_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "sheet.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    wrong = {
        "encrypted": make_encrypted(tmp_path / "locked.pdf", "secret"),
        "is damaged": make_broken(tmp_path / "broken.pdf"),
        "is empty": written(tmp_path / "empty.txt", b""),
        "contains no text": written(tmp_path / "blank.txt", b"  \n \n"),
        "PNG picture": written(tmp_path / "a.pdf", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        "another kind": written(tmp_path / "b.txt", bytes(range(256)) * 8),
        "ZIP archive": tmp_path / "sheet.xlsx",
        "cannot be read": tmp_path / "missing.pdf",
    }
    for said, path in wrong.items():
        with pytest.raises(ff.Permanent, match=said) as raised:
            read_document(path, "paper 7")
        assert raised.value.message.startswith("paper 7")
        assert hasattr(raised.value.message, "parameters")


def test_a_scan_without_ocr_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ff.Permanent, match=r"pip install 'fanfold\[ocr\]'"):
        read_document(make_scan(tmp_path / "scan.pdf", ["We asked 120 people."]), ocr=False)


def test_a_damaged_word_document_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("word/document.xml", "<broken")
    with pytest.raises(ff.Permanent, match="is damaged"):
        read_document(tmp_path / "a.docx")


def test_the_kind_is_known_by_the_content_whatever_the_name(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "paper.txt", ["We asked 120 people."])
    assert read_document(path).kind == "pdf"
    assert read_document(written(tmp_path / "b.txt", "<!DOCTYPE html><p>Text</p>")).kind == "html"


def test_a_saved_document_of_many_pages_is_small(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["\n".join(["We asked one hundred and twenty people."] * 30)] * 10)
    document = read_document(path)
    document.save(tmp_path / "a.json")
    assert Document.load(tmp_path / "a.json") == document
    assert (tmp_path / "a.json").stat().st_size < 10 * 30 * 250
    assert json.loads((tmp_path / "a.json").read_text())["kind"] == "pdf"


def test_every_sentence_about_documents_is_there_in_chinese() -> None:
    assert ENGLISH.keys() == CHINESE.keys()
