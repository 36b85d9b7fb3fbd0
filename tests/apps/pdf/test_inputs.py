"""Pictures become scans; office documents, books and web pages become Markdown without losing text."""

import zipfile
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

import fanfold as ff
from fanfold.apps.pdf.inputs.html_markdown import decoded, html_markdown
from fanfold.apps.pdf.inputs.kinds import kind_of
from fanfold.apps.pdf.inputs.markdown_text import compact, escaped, table
from fanfold.apps.pdf.inputs.parts import read_parts
from fanfold.apps.pdf.inputs.pictures import as_pdf

PAGE = """<!doctype html><html><head><title>A  title</title><script>run()</script></head><body>
<h1>Head <em>line</em></h1><p>With <a href="https://e.org/a(b)">a link</a>, <b> bold </b>and <code>x_y</code>.<br>Next</p>
<ul><li>one<ul><li>under</li></ul></li><li>two</li></ul><ol start="3"><li>three</li></ol>
<table><tr><th>k</th><th>v</th></tr><tr><td>a|b</td><td>1</td></tr></table>
<pre>if a:


  b</pre><blockquote><p>said</p></blockquote><p hidden>not seen</p><p>2 &lt; 3 * 4</p></body></html>"""
MARKDOWN = """# Head *line*

With [a link](https://e.org/a%28b%29), **bold** and `x_y`.  \nNext

- one
    - under
- two
3. three

| k | v |
| --- | --- |
| a\\|b | 1 |

```
if a:


  b
```

> said

2 \\< 3 \\* 4"""


def make_book(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="in/book.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "in/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
            "<dc:title>A book</dc:title><dc:creator>Ann</dc:creator></metadata><manifest>"
            '<item id="a" href="a.xhtml"/><item id="b" href="b%20c.xhtml"/><item id="x" href="../../etc/passwd"/></manifest>'
            '<spine><itemref idref="b"/><itemref idref="x"/><itemref idref="a"/></spine></package>',
        )
        archive.writestr("in/a.xhtml", "<html><body><h1>Last</h1></body></html>")
        archive.writestr("in/b c.xhtml", "<html><body><h1>First</h1><p>Text.</p></body></html>")
    return path


def test_a_web_page_becomes_markdown() -> None:
    assert html_markdown(PAGE) == (MARKDOWN, "A title")


def test_a_broken_web_page_loses_no_word() -> None:
    text, _ = html_markdown("<p>one <b>two<p>three</i></div> four <table><caption>five<tr><td>six<td>seven")
    assert [word.strip("*|") for word in text.split() if word.strip("*|-")] == [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
    ]


def test_a_web_page_says_its_encoding() -> None:
    assert "é" in decoded("<meta charset='iso-8859-1'>é".encode("latin-1"))
    assert decoded("﻿中".encode()) == "中"
    assert "中" in decoded("中文".encode("gb18030"))


def test_text_stays_text() -> None:
    assert escaped("# 1 * 2 a_b [x]") == "\\# 1 \\* 2 a_b \\[x\\]"
    assert escaped("3. Mai") == "3\\. Mai"
    assert table([["a"], [""], ["b"]]) == "a\n\nb"
    assert compact("- a\n\n- b\n\n\n\nc") == "- a\n- b\n\nc"


def test_the_chapters_of_a_book_are_its_pages(tmp_path: Path) -> None:
    path = make_book(tmp_path / "book.epub")
    assert kind_of(path, path.name) == "epub"
    found = read_parts(path, "epub", "1-", name="book.epub")
    assert (found.total, found.markdown) == (2, {1: "# First\n\nText.", 2: "# Last"})
    assert found.facts == {"title": "A book", "author": "Ann"}
    assert read_parts(path, "epub", "2", name="book.epub").pages == [2]


def test_a_word_document_keeps_its_structure(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Plan", 0)
    document.add_heading("First", 2)
    paragraph = document.add_paragraph("Some ")
    paragraph.add_run("bold").bold = True
    paragraph.add_run(" and 2*3")
    for text in ("one", "two"):
        document.add_paragraph(text, style="List Bullet")
    cells = document.add_table(2, 2)
    for row in range(2):
        for column in range(2):
            cells.cell(row, column).text = f"{row}|{column}"
    document.save(str(tmp_path / "plan.docx"))
    assert kind_of(tmp_path / "plan.docx", "wrong.pdf") == "docx"
    [text] = read_parts(tmp_path / "plan.docx", "docx", name="plan.docx").markdown.values()
    rows = "| 0\\|0 | 0\\|1 |\n| --- | --- |\n| 1\\|0 | 1\\|1 |"
    assert text == f"# Plan\n\n## First\n\nSome **bold** and 2\\*3\n\n- one\n- two\n\n{rows}"


def test_slides_and_sheets_are_pages(tmp_path: Path) -> None:
    pptx, openpyxl = pytest.importorskip("pptx"), pytest.importorskip("openpyxl")
    shown = pptx.Presentation()
    slide = shown.slides.add_slide(shown.slide_layouts[1])
    slide.shapes.title.text = "Title"
    slide.placeholders[1].text = "first\nsecond"
    slide.notes_slide.notes_text_frame.text = "say this"
    shown.save(str(tmp_path / "talk.pptx"))
    book = openpyxl.Workbook()
    book.active.title = "Costs"
    book.active.append(["what", "cost", None])
    book.active.append(["paper", 3.5, None])
    book.save(tmp_path / "costs.xlsx")
    assert read_parts(tmp_path / "talk.pptx", "pptx", name="t").markdown == {
        1: "# Title\n\n- first\n- second\n\n> say this"
    }
    assert read_parts(tmp_path / "costs.xlsx", "xlsx", name="c").markdown == {
        1: "# Costs\n\n| what | cost |\n| --- | --- |\n| paper | 3.5 |"
    }


def test_each_frame_of_a_picture_is_a_page(tmp_path: Path) -> None:
    frames = [Image.new("1", (60, 40), 1), Image.new("1", (60, 40), 0)]
    frames[0].save(tmp_path / "scan.tif", save_all=True, append_images=frames[1:])
    Image.new("RGBA", (60, 40), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    assert kind_of(tmp_path / "scan.tif", "scan.tif") == kind_of(tmp_path / "clear.png", "x.pdf") == "picture"
    assert as_pdf(tmp_path / "scan.tif", tmp_path / "scan.pdf", name="scan.tif", limit_pages=10) == 2
    assert as_pdf(tmp_path / "clear.png", tmp_path / "clear.pdf", name="clear.png", limit_pages=10) == 1
    document = pypdfium2.PdfDocument(tmp_path / "clear.pdf")
    assert document[0].render().to_pil().convert("L").getextrema()[0] > 250, "what is transparent is white paper"
    document.close()
    with pytest.raises(ff.Permanent, match="the limit is 1"):
        as_pdf(tmp_path / "scan.tif", tmp_path / "none.pdf", name="scan.tif", limit_pages=1)


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    word, picture = tmp_path / "a.docx", tmp_path / "a.png"
    word.write_bytes(b"PK\x03\x04rubbish")
    picture.write_bytes(b"\x89PNGrubbish")
    with pytest.raises(ff.Permanent, match=r"a\.docx is damaged"):
        kind_of(word, word.name)
    with pytest.raises(ff.Permanent, match=r"a\.png is damaged"):
        as_pdf(picture, tmp_path / "out.pdf", name=picture.name, limit_pages=10)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_book(tmp_path / "book.epub")
    monkeypatch.setattr("fanfold.apps.pdf.inputs.office_markdown.MOST_BYTES", 100)
    with pytest.raises(ff.Permanent, match="unpacks to more than"):
        read_parts(path, "epub", name="book.epub")
