"""DOCX: formatting becomes markers, unchanged parts stay byte-identical, and changes can be tracked."""

import re
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.apps.proofread.formats import Book, Tracked, read_book, write_book
from fanfold.apps.proofread.formats.word.docx_runs import runs_text
from tests.apps.proofread.archives import DOCUMENT, docx, members_of

MAIN = "word/document.xml"


@pytest.fixture
def book(tmp_path: Path) -> Book:
    (tmp_path / "book.docx").write_bytes(docx())
    return read_book(tmp_path / "book.docx")


def document_with(book: Book, changed: dict[str, str], tmp_path: Path, tracked: Tracked | None = None) -> str:
    data = write_book(book, changed, tmp_path / "out.docx", tracked=tracked).read_bytes()
    document = members_of(data)[MAIN].decode()
    ElementTree.fromstring(document.replace('r:id="r1"', ""))
    return document


def accepted(document: str) -> str:
    """The text after all tracked changes were accepted."""
    return runs_text(re.sub(r"<w:del .*?</w:del>", "", document))


def rejected(document: str) -> str:
    """The text after all tracked changes were rejected."""
    return runs_text(re.sub(r"<w:ins .*?</w:ins>", "", document).replace("w:delText", "w:t"))


def test_paragraphs_are_blocks_and_formats_are_markers(book: Book) -> None:
    assert [(block.kind.value, block.text) for block in book.blocks] == [
        ("head", "第一章 雨夜"),
        ("paragraph", "雨下得很急⟦1⟧非常 急⟦/1⟧，A & B。⟦2⟧完了。"),
        ("paragraph", "名字\t年龄⟦1⟧链接文字⟦/1⟧尾"),
        ("cell", "格子"),
        ("note", "脚注文字"),
    ]


def test_only_the_changed_text_differs(book: Book, tmp_path: Path) -> None:
    text = book.block("2").text.replace("很急", "很大").replace("B。", "C<。")
    expected = DOCUMENT.replace("很急", "很大").replace("&amp; B。", "&amp; C&lt;。")
    assert document_with(book, {"2": text}, tmp_path) == expected


def test_text_is_written_beside_tabs_and_inside_links(book: Book, tmp_path: Path) -> None:
    document = document_with(book, {"3": "名字\t新的年龄⟦1⟧另外的链接⟦/1⟧"}, tmp_path)
    assert '<w:t>名字</w:t><w:tab/><w:t xml:space="preserve">新的</w:t><w:t>年龄</w:t>' in document
    assert "另外的链接" in document


def test_text_where_there_was_none_gets_the_format_of_the_paragraph(book: Book, tmp_path: Path) -> None:
    document = document_with(book, {"2": "⟦1⟧非常 急⟦/1⟧雨下得很急，A & B。完了⟦2⟧"}, tmp_path)
    assert runs_text(document.partition("</w:p>")[2].partition("</w:p>")[0]) == "非常 急雨下得很急，A & B。完了"


def test_blanks_at_the_edge_of_a_text_are_preserved(book: Book, tmp_path: Path) -> None:
    document = document_with(book, {"4": " 格子 "}, tmp_path)
    assert '<w:t xml:space="preserve"> 格子 </w:t>' in document


def test_other_parts_stay_byte_identical(book: Book, tmp_path: Path) -> None:
    data = write_book(book, {"5": "脚注"}, tmp_path / "out.docx").read_bytes()
    old, new = members_of(docx()), members_of(data)
    assert {name for name in old if old[name] != new[name]} == {"word/footnotes.xml"}
    assert list(old) == list(new)


def test_tracked_changes_can_be_accepted_and_rejected(book: Book, tmp_path: Path) -> None:
    text = book.block("2").text.replace("很急", "很大啊").replace("非常", "特别").replace("完了", "完")
    document = document_with(book, {"2": text}, tmp_path, Tracked('A "B"', "2026-01-01T00:00:00Z"))
    paragraph = document.split("</w:p>")[1]
    assert accepted(paragraph) == "雨下得很大啊特别 急，A & B。完。"
    assert rejected(paragraph) == "雨下得很急非常 急，A & B。完了。"
    assert '<w:rPr><w:b/></w:rPr><w:delText xml:space="preserve">非常</w:delText>' in paragraph
    assert 'w:author="A &quot;B&quot;" w:date="2026-01-01T00:00:00Z"' in paragraph
    ids = re.findall(r'<w:(?:ins|del) w:id="(\d+)"', paragraph)
    assert len(set(ids)) == len(ids)
    assert document.replace(paragraph, "") == DOCUMENT.replace(DOCUMENT.split("</w:p>")[1], "")


def test_text_boxes_are_reported(tmp_path: Path) -> None:
    inside = "<w:txbxContent><w:p><w:r><w:t>盒</w:t></w:r></w:p></w:txbxContent>"
    box = f"<w:p><w:r><w:pict>{inside}</w:pict></w:r><w:r><w:t>外</w:t></w:r></w:p>"
    (tmp_path / "book.docx").write_bytes(docx(DOCUMENT.replace("<w:p/>", box)))
    book = read_book(tmp_path / "book.docx")
    assert "1 text box" in book.reports[0]
    assert "外" in [block.text for block in book.blocks]


RUN = st.tuples(
    st.sampled_from(["", "<w:rPr><w:b/></w:rPr>", "<w:rPr><w:i/></w:rPr>"]),
    st.sampled_from(["<w:t>雨夜</w:t>", "<w:t>a &lt; b</w:t>", "<w:tab/>",
         '<w:t xml:space="preserve"> </w:t>', "<w:drawing/>", "<w:br/>", ""]),
).map(lambda one: f"<w:r>{one[0]}{one[1]}</w:r>")  # fmt: skip
PARTS = st.lists(
    st.one_of(RUN, RUN.map(lambda run: f"<w:hyperlink>{run}</w:hyperlink>"),
              st.sampled_from(["<w:bookmarkStart/>", "<w:proofErr/>"])),
    max_size=8,
)  # fmt: skip


@given(PARTS, st.lists(st.sampled_from(["雨", "新的", " ", "x<y"]), min_size=1, max_size=4))
def test_runs_of_any_shape_survive(parts: list[str], words: list[str]) -> None:
    source = f"<w:document><w:p><w:r><w:t>始</w:t></w:r></w:p><w:p>{''.join(parts)}<w:r><w:t>终末</w:t></w:r></w:p></w:document>"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.docx"
        path.write_bytes(docx(source))
        book = read_book(path)
        assert write_book(book, {}, Path(folder) / "same.docx").read_bytes() == path.read_bytes()
        block = book.block("2")
        text = block.text.replace("雨", words[0]).replace("末", "".join(words))
        visible = re.sub("⟦/?[0-9]+⟧", "", text)
        for tracked in (None, Tracked()):
            data = write_book(book, {"2": text}, Path(folder) / "out.docx", tracked=tracked).read_bytes()
            document = members_of(data)[MAIN].decode()
            ElementTree.fromstring(document.replace("w:", ""))
            inside = document[block.place.start :].removesuffix(source[block.place.end :])
            assert accepted(inside).replace("\n", "") == visible.replace("\n", "")
            assert document.startswith(source[: block.place.start])
            if tracked and re.findall("⟦/?[0-9]+⟧", text):
                assert rejected(inside) == re.sub("⟦/?[0-9]+⟧", "", block.text)


def test_a_page_break_stays_and_the_text_beside_it_is_found(tmp_path: Path) -> None:
    run = '<w:r><w:br w:type="page"/><w:t>第二章 雨</w:t></w:r>'
    (tmp_path / "book.docx").write_bytes(docx(f"<w:document xmlns:w='w'><w:p>{run}</w:p></w:document>"))
    book = read_book(tmp_path / "book.docx")
    assert book.blocks[0].text == "第二章 雨"
    assert run.replace("雨", "雪") in document_with(book, {"1": "第二章 雪"}, tmp_path)
    tracked = document_with(book, {"1": "第二章 雪"}, tmp_path, Tracked())
    assert tracked.count('<w:br w:type="page"/>') == 1
    assert accepted(tracked) == "第二章 雪"


def test_runs_that_differ_in_nothing_visible_have_no_markers(tmp_path: Path) -> None:
    hinted = '<w:r><w:rPr><w:rFonts w:hint="eastAsia"/></w:rPr><w:t>雨</w:t></w:r>'
    english = '<w:r><w:rPr><w:lang w:val="en-US"/></w:rPr><w:t>rain</w:t></w:r>'
    (tmp_path / "book.docx").write_bytes(
        docx(f"<w:document xmlns:w='w'><w:p>{hinted}{english}{hinted}</w:p></w:document>")
    )
    book = read_book(tmp_path / "book.docx")
    assert book.blocks[0].text == "雨rain雨"
    assert hinted + english.replace("rain", "ruin") + hinted in document_with(book, {"1": "雨ruin雨"}, tmp_path)
