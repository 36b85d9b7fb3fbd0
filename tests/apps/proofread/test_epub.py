"""EPUB: all text is found, and everything outside the changed text stays byte-identical."""

import io
import tempfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold as ff
from fanfold.apps.proofread.formats import Book, MarkerKind, read_book, write_book
from tests.apps.proofread.archives import ONE, PACKAGE, archive, epub, members_of

PAGE = "OEBPS/text/one page.xhtml"


@pytest.fixture
def book(tmp_path: Path) -> Book:
    (tmp_path / "book.epub").write_bytes(epub())
    return read_book(tmp_path / "book.epub")


def page_with(book: Book, changed: dict[str, str], tmp_path: Path) -> str:
    return members_of(write_book(book, changed, tmp_path / "out.epub").read_bytes())[PAGE].decode()


def id_of(book: Book, start: str) -> str:
    return next(block.id for block in book.blocks if block.text.startswith(start))


def test_all_text_is_found_in_reading_order(book: Book) -> None:
    assert [(block.kind.value, block.text) for block in book.blocks] == [
        ("title", "雨夜"),
        ("title", "第一章"),
        ("head", "第一章\xa0雨夜"),
        ("paragraph", "直接在 div 里的文字"),
        ("paragraph", "雨下得⟦1⟧很⟦2⟧急⟦/2⟧⟦/1⟧，像\xa0…有人 把灯拧灭了⟦3⟧。"),
        ("paragraph", "尾巴"),
        ("paragraph", "整段&在一个 span 里"),
        ("paragraph", "他叫⟦1⟧子，公式 ⟦2⟧ 和 ⟦3⟧。"),
        ("paragraph", "没人想到的元素"),
        ("paragraph", "code stays"),
        ("cell", "格子"),
        ("paragraph", "第一行"),
        ("paragraph", "第二行"),
        ("alt", "一把伞"),
        ("paragraph", "裸的第二页"),
        ("title", "雨夜"),
        ("title", "第一章"),
    ]


def test_ruby_math_and_code_are_atoms_that_show_their_text(book: Book) -> None:
    block = book.block(id_of(book, "他叫"))
    assert [(marker.kind, marker.shown) for marker in block.markers] == [
        (MarkerKind.ATOM, "栀"),
        (MarkerKind.ATOM, "x"),
        (MarkerKind.ATOM, "if a < b"),
    ]


def test_only_the_changed_characters_differ(book: Book, tmp_path: Path) -> None:
    name = id_of(book, "雨下得")
    text = book.block(name).text.replace("拧灭", "熄<灭").replace("雨下", "雪下")
    assert page_with(book, {name: text}, tmp_path) == ONE.replace("拧灭", "熄&lt;灭").replace("雨下", "雪下")


def test_markers_may_change_their_order(book: Book, tmp_path: Path) -> None:
    name = id_of(book, "他叫")
    page = page_with(book, {name: "⟦3⟧ and ⟦2⟧, she is ⟦1⟧ Zi."}, tmp_path)
    assert "<p><code>if a &lt; b</code> and <math><mi>x</mi></math>, she is <ruby>栀<rt>zhī</rt></ruby> Zi.</p>" in page
    ElementTree.fromstring(
        page.replace("&nbsp;", " ").replace("&hellip;", "…").replace("epub:", "").replace("unknown:", "")
    )


@pytest.mark.parametrize("text", ["他叫子", "他叫⟦1⟧⟦1⟧⟦2⟧⟦3⟧", "⟦1⟧⟦2⟧⟦3⟧⟦4⟧"])
def test_a_text_with_other_markers_is_not_written(book: Book, text: str, tmp_path: Path) -> None:
    with pytest.raises(ff.Permanent, match="markers"):
        write_book(book, {id_of(book, "他叫"): text}, tmp_path / "out.epub")
    assert not (tmp_path / "out.epub").exists()


def test_other_members_stay_and_the_mimetype_is_first_and_stored(book: Book, tmp_path: Path) -> None:
    changed = {id_of(book, "一把伞"): 'an "umbrella"', id_of(book, "裸的"): "第二页"}
    data = write_book(book, changed, tmp_path / "out.epub").read_bytes()
    old, new = members_of(epub()), members_of(data)
    assert {name for name in old if old[name] != new[name]} == {PAGE, "OEBPS/two.xhtml"}
    assert b'alt="an &quot;umbrella&quot;"' in new[PAGE]
    assert new["OEBPS/two.xhtml"].startswith("\ufeff".encode())
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        first = made.infolist()[0]
        assert (first.filename, first.compress_type, first.date_time) == ("mimetype", 0, (2020, 2, 2, 2, 2, 2))
        assert made.namelist() == list(old)


def test_the_language_of_a_translation_is_stated_where_the_book_states_its_own(tmp_path: Path) -> None:
    page = '<html xml:lang="zh-CN" lang=\'zh\'><body dir="ltr"><p lang="zh">下雨</p><p xml:lang="fr">Il pleut</p></body></html>'
    (tmp_path / "book.epub").write_bytes(epub(page))
    book = read_book(tmp_path / "book.epub")
    for language, root, progress in (
        ("en", '<html xml:lang="en" lang=\'en\'><body dir="ltr">', '<spine toc="ncx">'),
        (
            "ar",
            '<html dir="rtl" xml:lang="ar" lang=\'ar\'><body dir="rtl">',
            '<spine page-progression-direction="rtl" toc',
        ),
    ):
        written = write_book(book, {id_of(book, "下雨"): "x"}, tmp_path / "out.epub", language=language)
        members = members_of(written.read_bytes())
        assert members[PAGE].decode() == f'{root}<p lang="{language}">x</p><p xml:lang="fr">Il pleut</p></body></html>'
        package = members["OEBPS/book.opf"].decode()
        assert f"<dc:language>{language}</dc:language>" in package
        assert progress in package
        assert members["OEBPS/two.xhtml"] == members_of(epub())["OEBPS/two.xhtml"], "nothing of it was translated"


def test_texts_of_pictures_inside_a_changed_paragraph_are_changed_in_their_place(tmp_path: Path) -> None:
    page = (
        '<p>one <img alt="two" src="x"/> three <svg><title>four</title><text x="1">five <tspan>six</tspan></text>'
        "<style>p { seven: 1 }</style></svg> eight</p><p>nine</p>"
    )
    (tmp_path / "book.epub").write_bytes(epub(page))
    book = read_book(tmp_path / "book.epub")
    own = [block for block in book.blocks if block.place.member == PAGE]
    assert [block.text for block in own] == ["one ⟦1⟧ three ⟦2⟧ eight", "two", "four", "five", "six", "nine"]
    words = {"one": "ONE", "two": "T<WO", "four": "FOUR", "five": "FIVE", "six": "SIX", "nine": "NINE"}
    for chosen in (words, {"two": "T<WO", "six": "SIX"}, {"one": "ONE", "five": "FIVE"}):
        changed: dict[str, str] = {}
        expected = page
        for old, new in chosen.items():
            block = next(one for one in own if old in one.text.split())
            changed[block.id] = changed.get(block.id, block.text).replace(old, new)
            expected = expected.replace(old, new.replace("<", "&lt;"))
        assert page_with(book, changed, tmp_path) == expected


def test_a_drawing_in_a_file_of_its_own_is_read(tmp_path: Path) -> None:
    package = PACKAGE.replace("</manifest>", '<item id="d" href="d.svg" media-type="image/svg+xml"/></manifest>')
    members = dict(members_of(epub())) | {
        "OEBPS/book.opf": package.encode(),
        "OEBPS/d.svg": b"<svg><text>Sea</text></svg>",
    }
    (tmp_path / "book.epub").write_bytes(archive(list(members.items())))
    book = read_book(tmp_path / "book.epub")
    written = members_of(write_book(book, {id_of(book, "Sea"): "Lake"}, tmp_path / "out.epub").read_bytes())
    assert written["OEBPS/d.svg"] == b"<svg><text>Lake</text></svg>"


def test_each_line_of_preformatted_verse_is_a_block_and_code_is_listed(tmp_path: Path) -> None:
    verse = "<pre>  The rain\n    <i>it    falls</i>\r\n<b>and\nfalls</b>\tagain\n</pre>"
    code = (
        "<pre><code>print('no')</code></pre><pre class='programlisting'>let it be</pre><pre>if (a) { b = c[1]; }</pre>"
    )
    (tmp_path / "book.epub").write_bytes(epub(verse + code))
    book = read_book(tmp_path / "book.epub")
    own = [block for block in book.blocks if block.place.member == PAGE]
    assert [block.text for block in own] == ["The rain", "it⟦1⟧falls", "and", "falls", "again"]
    assert "3 passages of code" in str(book.notes[0])
    changed = {block.id: block.text.replace("f", "F").replace("T", "t") for block in own}
    expected = verse.replace("The", "the").replace("falls", "Falls") + code
    assert page_with(book, changed, tmp_path) == expected


def test_markers_use_characters_that_the_book_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "book.epub").write_bytes(epub(ONE.replace("尾巴", "尾⟦1⟧巴")))
    book = read_book(tmp_path / "book.epub")
    assert "⦃1⦄" in book.block(id_of(book, "雨下得")).text
    name = id_of(book, "尾")
    assert "尾⟦1⟧巴了" in page_with(book, {name: "尾⟦1⟧巴了"}, tmp_path)


def test_a_book_without_a_container_is_read_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "book.epub").write_bytes(archive([("a.opf", b"<package/>"), ("x.xhtml", b"<p>one</p>")]))
    assert [block.text for block in read_book(tmp_path / "book.epub").blocks] == ["one"]


def test_a_bomb_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "book.epub").write_bytes(epub(ONE, ("OEBPS/bomb", bytes(30_000_000))))
    with pytest.raises(ff.Permanent) as caught:
        read_book(tmp_path / "book.epub")
    assert caught.value.code == "zip_bomb"


def test_a_protected_book_is_refused_and_obfuscated_fonts_are_no_obstacle(tmp_path: Path) -> None:
    for uri, code in (("OEBPS/two.xhtml", "locked_book"), ("OEBPS/font.otf", "")):
        lock = f'<encryption><CipherReference URI="{uri}"/></encryption>'.encode()
        (tmp_path / "book.epub").write_bytes(epub(ONE, ("META-INF/encryption.xml", lock)))
        if not code:
            assert read_book(tmp_path / "book.epub").blocks
            continue
        with pytest.raises(ff.Permanent) as caught:
            read_book(tmp_path / "book.epub")
        assert caught.value.code == code


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    data = bytearray(
        archive(
            [("META-INF/container.xml", b"<x/>"), ("a.opf", b"<package>" + b"0123456789" * 9)], frozenset({"a.opf"})
        )
    )
    data[data.index(b"0123456789")] = 65
    (tmp_path / "book.epub").write_bytes(bytes(data))
    with pytest.raises(ff.Permanent, match=r"a\.opf"):
        read_book(tmp_path / "book.epub")


def test_an_epub_with_the_ending_of_a_text_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_bytes(epub())
    with pytest.raises(ff.Permanent, match=r"an EPUB.*book\.epub"):
        read_book(tmp_path / "book.txt")


FRAGMENTS = st.lists(
    st.sampled_from(
        ["雨", "夜 ", "\n  ", "<em>", "</em>", "<p>", "</p>", "<br/>", "<br>", "&amp;",
         "&#x4e00;", "&bogus;", "<a href='#'>", "</a>",
         "<!-- x -->", "<ruby>", "</ruby>", "<img alt='图' src=\"x\"/>", "<span/>", "<div>",
         "</div>", "a < b", "\udcff", "]]>", "<sup>1</sup>"]
    ),
    max_size=25,
)  # fmt: skip


@given(FRAGMENTS)
def test_markup_of_any_shape_survives(fragments: list[str]) -> None:
    page = "<p>始</p>" + "".join(fragments) + "<p>终</p>"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.epub"
        path.write_bytes(epub(page))
        book = read_book(path)
        assert write_book(book, {}, Path(folder) / "same.epub").read_bytes() == path.read_bytes()
        own = [block for block in book.blocks if block.place.member == PAGE]
        for block in own:
            data = write_book(book, {block.id: block.text + "。"}, Path(folder) / "out.epub").read_bytes()
            text = members_of(data)[PAGE].decode("utf-8", "surrogateescape")
            assert text[: block.place.start] == page[: block.place.start]
            assert text.endswith(page[block.place.end :])
            assert len(text) == len(page) + 1


def test_names_with_a_prefix_raw_text_and_own_entities_are_understood(tmp_path: Path) -> None:
    page = (
        '<!DOCTYPE html [<!ENTITY who "Ann">]><html><body><p>A <m:math><m:mi>x</m:mi></m:math> of &who;&mdash;end</p>'
        "<p><![CDATA[1 < 2 & so]]> on</p><h:p>one <h:em>two</h:em> three</h:p></body></html>"
    )
    (tmp_path / "book.epub").write_bytes(epub(page))
    book = read_book(tmp_path / "book.epub")
    assert [block.text for block in book.blocks if block.place.member == PAGE] == [
        "A ⟦1⟧ of ⟦2⟧—end",
        "1 < 2 & so on",
        "one ⟦1⟧two⟦/1⟧ three",
    ]
    changed = {id_of(book, "A "): "B ⟦1⟧ of ⟦2⟧—end", id_of(book, "1 <"): "1 < 3 & so on"}
    written = page_with(book, changed, tmp_path)
    assert "<p>B <m:math><m:mi>x</m:mi></m:math> of &who;&mdash;end</p><p>1 &lt; 3 &amp; so on</p>" in written


def test_what_xml_forbids_is_never_written(book: Book, tmp_path: Path) -> None:
    page = page_with(book, {id_of(book, "尾巴"): "尾\x07巴\x00\ud800了"}, tmp_path)
    assert "尾巴了" in page


def test_pages_with_a_wrong_type_or_another_spelling_of_their_name_are_read(tmp_path: Path) -> None:
    package = PACKAGE.replace("two.xhtml", "Two.XHTML").replace(
        'one%20page.xhtml" media-type="application/xhtml+xml"', 'one%20page.xhtml" media-type="text/plain"'
    )
    members = [(name, package.encode() if name.endswith(".opf") else data) for name, data in members_of(epub()).items()]
    (tmp_path / "book.epub").write_bytes(archive(members))
    texts = [block.text for block in read_book(tmp_path / "book.epub").blocks]
    assert {"尾巴", "裸的第二页"} <= set(texts)


def test_buttons_and_names_in_capitals_are_read(tmp_path: Path) -> None:
    page = '<HTML><BODY><P>按这里<button>开始</button></P><IMG SRC="a.png" ALT="一只猫"></BODY></HTML>'
    (tmp_path / "book.epub").write_bytes(epub(page))
    book = read_book(tmp_path / "book.epub")
    texts = [block.text for block in book.blocks if block.place.member == PAGE]
    assert texts == ["按这里⟦1⟧开始⟦/1⟧", "一只猫"]
    assert page_with(book, {id_of(book, "一只猫"): "两只猫"}, tmp_path) == page.replace("一只", "两只")
