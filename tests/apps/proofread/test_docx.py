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


BOX = "<w:txbxContent><w:p><w:r><w:t>盒子</w:t></w:r></w:p><w:p><w:r><w:t>又一段</w:t></w:r></w:p></w:txbxContent>"


def test_text_boxes_are_blocks_and_both_copies_of_one_change(tmp_path: Path) -> None:
    copies = f"<mc:Choice><w:drawing>{BOX}</w:drawing></mc:Choice><mc:Fallback><w:pict>{BOX}</w:pict></mc:Fallback>"
    box = f"<w:r><mc:AlternateContent>{copies}</mc:AlternateContent></w:r>"
    text = f'<w:p><w:r><w:t>外面</w:t></w:r>{box}<w:r><w:t xml:space="preserve"> 里面</w:t></w:r></w:p>'
    alone = f"<w:p><w:r><w:pict>{BOX.replace('盒子', '旧盒')}</w:pict></w:r></w:p>"
    source = f"<w:document xmlns:w='w' xmlns:mc='mc'>{text}{alone}</w:document>"
    (tmp_path / "book.docx").write_bytes(docx(source))
    book = read_book(tmp_path / "book.docx")
    texts = [block.text for block in book.blocks if block.place.member == MAIN]
    assert texts == ["外面⟦1⟧ 里面", "盒子", "又一段", "旧盒", "又一段"]
    assert document_with(book, {"2": "箱子", "5": "末段"}, tmp_path) == source.replace("盒子", "箱子").replace(
        "又一段</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>",
        "末段</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>",
    )
    changed = {"1": "外头⟦1⟧ 里面", "2": "箱子"}
    assert document_with(book, changed, tmp_path) == source.replace("外面", "外头").replace("盒子", "箱子")
    tracked = document_with(book, changed, tmp_path, Tracked())
    assert accepted(tracked) == accepted(source.replace("外面", "外头").replace("盒子", "箱子"))
    assert rejected(tracked) == accepted(source)
    ids = re.findall(r'<w:(?:ins|del) w:id="(\d+)"', tracked)
    assert len(set(ids)) == len(ids) == 6


def test_a_tracked_change_of_formatting_stays(tmp_path: Path) -> None:
    style = '<w:rPr><w:b/><w:rPrChange w:id="7" w:author="A"><w:rPr><w:i/></w:rPr></w:rPrChange></w:rPr>'
    source = (
        f"<w:document xmlns:w='w'><w:p><w:r>{style}<w:t>粗的字</w:t></w:r><w:r><w:t>别的</w:t></w:r></w:p></w:document>"
    )
    (tmp_path / "book.docx").write_bytes(docx(source))
    book = read_book(tmp_path / "book.docx")
    changed = {"1": book.blocks[0].text.replace("粗的", "很粗的")}
    assert document_with(book, changed, tmp_path) == source.replace("粗的", "很粗的")
    tracked = document_with(book, changed, tmp_path, Tracked())
    assert (accepted(tracked), tracked.count(style)) == ("很粗的字别的", 1)


def field(code: str, shown: str) -> str:
    marks = [f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")]
    result = f"<w:r><w:t>{shown}</w:t></w:r>" if shown else ""
    return f"{marks[0]}<w:r><w:instrText>{code}</w:instrText></w:r>{marks[1] if shown else ''}{result}{marks[2]}"


def test_a_field_is_one_pair_of_markers_around_what_it_shows(tmp_path: Path) -> None:
    nested = field("IF " + field("PAGE", "3") + " x", "三")
    start = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:t>没完</w:t></w:r>'
    inside = f"<w:r><w:t>见</w:t></w:r>{field('REF a', '第二章')}<w:r><w:t>和</w:t></w:r>{nested}{field('XE b', '')}"
    source = f"<w:document xmlns:w='w'><w:p>{inside}<w:r><w:t>。</w:t></w:r>{start}</w:p></w:document>"
    (tmp_path / "book.docx").write_bytes(docx(source))
    book = read_book(tmp_path / "book.docx")
    assert book.blocks[0].text == "见⟦1⟧第二章⟦/1⟧和⟦2⟧三⟦/2⟧⟦3⟧。⟦4⟧没完"
    document = document_with(book, {"1": "⟦2⟧三⟦/2⟧和⟦1⟧第二章⟦/1⟧见⟦3⟧。⟦4⟧没完"}, tmp_path)
    assert nested in document
    assert field("REF a", "第二章") in document


def test_text_beside_a_note_in_the_same_run_is_found(tmp_path: Path) -> None:
    run = '<w:r><w:t>夜雨</w:t><w:footnoteReference w:id="2"/><w:t>很大</w:t></w:r>'
    source = f"<w:document xmlns:w='w'><w:p>{run}</w:p></w:document>"
    (tmp_path / "book.docx").write_bytes(docx(source))
    book = read_book(tmp_path / "book.docx")
    assert book.blocks[0].text == "夜雨很大"
    assert document_with(book, {"1": "夜雪很大"}, tmp_path) == source.replace("雨", "雪")
    tracked = document_with(book, {"1": "夜雪很大"}, tmp_path, Tracked())
    assert (accepted(tracked), tracked.count("<w:footnoteReference")) == ("夜雪很大", 1)


def test_charts_with_text_are_named_in_the_report(tmp_path: Path) -> None:
    charts = [
        (f"word/charts/chart{at}.xml", text.encode()) for at, text in ((1, "<c:v>销售</c:v>"), (2, "<c:v>12</c:v>"))
    ]
    (tmp_path / "book.docx").write_bytes(docx(DOCUMENT, *charts))
    assert "1 chart or diagram" in read_book(tmp_path / "book.docx").notes[0]


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
