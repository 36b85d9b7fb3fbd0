"""Text files keep every byte that belongs to no changed paragraph."""

import codecs
import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold as ff
from fanfold.apps.proofread.formats import BlockKind, read_book, write_book

CHINESE = "　　雨下得很急，像有人把整座城的灯都拧灭了。\n我说：“这个时候，你还来做什么？”\n\n他没有回答。\n"
NUMBERED = "".join(f"　　第一天，一个人在雨中走了{at}一里路。\n" for at in range(20))
"""In UTF-16, 一 and the wide blank have a zero byte where Latin letters have none."""
TRADITIONAL = "雨下得很急，這個時候沒有人來。\n我說：「你還在這裡做什麼？」\n他沒有回答，只是看著窗外的雨。\n"
JAPANESE = "雨が降っていました。私は駅まで歩いて行きました。\nそれから、彼に会いました。\n"
FRENCH = "Où êtes-vous allé cet été ? Nous étions à la plage, déjà.\nC'était très agréable, n'est-ce pas ?\n"


def written(tmp_path: Path, data: bytes, name: str = "book.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        (CHINESE, "utf-8", "utf-8"),
        (CHINESE, "gb18030", "gb18030"),
        (TRADITIONAL, "big5", "big5hkscs"),
        (JAPANESE, "shift_jis", "cp932"),
        (JAPANESE, "euc_jp", "euc_jp"),
        (CHINESE, "utf-16-le", "utf-16-le"),
        (CHINESE, "utf-16-be", "utf-16-be"),
        (NUMBERED, "utf-16-le", "utf-16-le"),
        (NUMBERED, "utf-16-be", "utf-16-be"),
        ("It rained.\n", "utf-16-le", "utf-16-le"),
        ("雨夜", "gbk", "gb18030"),
        (JAPANESE, "iso2022_jp", "iso2022_jp"),
        (CHINESE, "hz", "hz"),
        (FRENCH * 5, "cp1252", "cp1252"),
        ("Plain words.\n", "ascii", "utf-8"),
    ],
)
def test_the_encoding_is_found_without_a_byte_order_mark(text: str, encoding: str, found: str, tmp_path: Path) -> None:
    book = read_book(written(tmp_path, text.encode(encoding)))
    assert (book.encoding, book.text, book.reports) == (found, text, ())


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_a_byte_order_mark_decides_and_is_kept(mark: bytes, encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, mark + CHINESE.encode(encoding))
    book = read_book(path)
    first = book.blocks[0]
    result = write_book(book, {first.id: "雨停了。"}, tmp_path / "out.txt").read_bytes()
    assert book.encoding == encoding
    assert result == mark + CHINESE.replace(first.text, "雨停了。").encode(encoding)


def test_broken_bytes_are_reported_and_kept_outside_the_changed_paragraph(tmp_path: Path) -> None:
    lines = [line.encode("gb18030") for line in CHINESE.splitlines(keepends=True) * 50]
    lines[3] = lines[3][:4] + b"\xff\xff" + lines[3][4:]
    book = read_book(written(tmp_path, b"".join(lines)))
    assert book.encoding == "gb18030"
    assert f"first is at byte {len(b''.join(lines[:3])) + 4}." in book.reports[0]
    result = write_book(book, {"1": "雨停了。"}, tmp_path / "out.txt").read_bytes()
    assert result == "雨停了。\n".encode("gb18030") + b"".join(lines[1:])


@pytest.mark.parametrize(("encoding", "broken"), [("gb18030", b"\xff"), ("big5", b"\xff"), ("utf-8", b"\xff")])
def test_broken_bytes_stay_in_a_changed_paragraph(encoding: str, broken: bytes, tmp_path: Path) -> None:
    """Otherwise a rule about blanks would lose them, and in Big5 the book could not be written at all."""
    words = [one.encode(encoding) for one in ("雨下得很急，", "這個時候", "沒有人來。")]
    data = (b"".join(words) + b"\n") * 60 + broken.join(words)
    book = read_book(written(tmp_path, data))
    last = book.blocks[-1]
    assert (book.encoding.startswith(encoding), last.text.count("\ufffd"), last.editable) == (True, 2, True)
    changed = "　　" + last.text.replace("人來", "人去")
    result = write_book(book, {last.id: changed}, tmp_path / "out.txt").read_bytes()
    assert result == data[: last.place.start] + "　　".encode(encoding) + data[last.place.start :].replace(
        "來".encode(encoding), "去".encode(encoding)
    )
    without = last.text.replace("\ufffd", "", 1)
    assert write_book(book, {last.id: without}, tmp_path / "out.txt").read_bytes().count(broken) == 1


def test_a_paragraph_in_another_encoding_is_kept_and_not_sent(tmp_path: Path) -> None:
    """Books that were put together from several sources have such paragraphs. A model would make up their text."""
    data = (CHINESE * 20).encode() + CHINESE.encode("gb18030")
    book = read_book(written(tmp_path, data))
    assert book.encoding == "utf-8"
    assert [block.editable for block in book.blocks if block.kind is not BlockKind.GAP] == [True] * 60 + [False] * 3
    assert "--source-encoding" in book.reports[0]
    assert write_book(book, {"1": "雨。"}, tmp_path / "out.txt").read_bytes().endswith(CHINESE.encode("gb18030"))


@pytest.mark.parametrize("text", ["“It rained,” he said. " * 20, "雨下得很急，像有人把灯拧灭了。\n" * 20])
def test_a_few_broken_bytes_do_not_hide_utf_8(text: str, tmp_path: Path) -> None:
    data = text.encode()
    for broken in (data[:-1] + b"\xe4", data[:30] + b"\xff" + data[30:]):
        book = read_book(written(tmp_path, broken))
        assert (book.encoding, len(book.reports)) == ("utf-8", 1)


def test_newlines_of_the_file_are_used_for_what_is_new(tmp_path: Path) -> None:
    book = read_book(written(tmp_path, b"one\r\ntwo\r\n\r\nthree\r\n"))
    assert book.newline == "\r\n"
    assert write_book(book, {"2": "two\nand more"}, tmp_path / "out.txt").read_bytes() == (
        b"one\r\ntwo\r\nand more\r\n\r\nthree\r\n"
    )


def test_utf_8_can_be_asked_for(tmp_path: Path) -> None:
    book = read_book(written(tmp_path, CHINESE.encode("gb18030")))
    assert write_book(book, {}, tmp_path / "out.txt", encoding="utf-8").read_bytes() == CHINESE.encode()


def test_a_character_that_the_encoding_lacks_is_named_with_the_way_out(tmp_path: Path) -> None:
    book = read_book(written(tmp_path, JAPANESE.encode("shift_jis")))
    with pytest.raises(ff.Permanent, match=r"U\+1F600.*UTF-8") as caught:
        write_book(book, {"1": "😀"}, tmp_path / "out.txt")
    assert caught.value.code == "not_encodable"
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("book.txt", b"", "empty_file"),
        ("book.txt", b" \n\n\t\n", "no_text"),
        ("book.txt", b"%PDF-1.7 ...", "binary_file"),
        ("book.txt", bytes(range(256)) * 40, "binary_file"),
        ("book.docx", b"plain words", "wrong_ending"),
        ("book.epub", b"PK\x03\x04 but no more", "damaged_archive"),
        ("book.odt", b"plain words", "unknown_ending"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_a_reason(name: str, data: bytes, code: str, tmp_path: Path) -> None:
    with pytest.raises(ff.Permanent) as caught:
        read_book(written(tmp_path, data, name))
    assert caught.value.code == code
    assert name in caught.value.message


def test_a_missing_file_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ff.Permanent, match="No such file"):
        read_book(tmp_path / "none.txt")


def test_a_book_is_not_written_from_a_file_that_has_changed(tmp_path: Path) -> None:
    path = written(tmp_path, b"one\n")
    book = read_book(path)
    path.write_bytes(b"two\n")
    with pytest.raises(ff.Permanent, match="changed"):
        write_book(book, {}, tmp_path / "out.txt")


def test_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ff.BadOption, match="klingon"):
        read_book(written(tmp_path, b"one\n"), encoding="klingon")


def test_lines_of_a_wrapped_text_belong_to_one_paragraph(tmp_path: Path) -> None:
    line = "It was a bright cold day in April, and the clocks were striking thirteen."
    text = "\n\n".join("\n".join([line] * 4) for _ in range(5)) + "\n"
    book = read_book(written(tmp_path, text.encode()))
    paragraphs = [block for block in book.blocks if block.kind is not BlockKind.GAP]
    assert [block.text.count("\n") for block in paragraphs] == [3] * 5
    assert len(read_book(written(tmp_path, text.encode()), paragraphs="lines").blocks) > 30


@pytest.mark.parametrize(
    "head",
    [
        "第一章 雨夜",
        "第十二回",
        "第3节：回声",
        "楔子",
        "番外 一",
        "【尾声】",
        "Chapter 12",
        "CHAPTER THE FIRST",
        "Prologue",
        "XIV.",
        "PART II: The River",
        "Chapter IV The Sea, the Sea",
        "Book the Twenty-First",
        "第廿三章雪",
        "☆、第二章 雨",
        "尾声（完）",
        "プロローグ",
        "Глава 3",
        "الفصل الأول",
    ],
)
def test_heads_of_chapters_are_recognised(head: str, tmp_path: Path) -> None:
    book = read_book(written(tmp_path, f"  {head}\n\nAnd then it began.\n".encode()))
    assert [block.kind for block in book.blocks if block.kind is not BlockKind.GAP] == ["head", "paragraph"]


@pytest.mark.parametrize(
    "line",
    [
        "第一章节的内容，我已经忘了。",
        "他说第三章很难读。",
        "Chapter and verse were quoted.",
        "I",
        "“NO,”",
        "Part of it was lost.",
        "【叮！系统已激活】",
        "HELP!",
        "第一节课他就睡着了",
        "第一回合他就输了",
        "第三部分的人都走了。",
        "Chapter 3 was the worst of all",
        "Book the hotel",
    ],
)
def test_sentences_are_no_heads(line: str, tmp_path: Path) -> None:
    book = read_book(written(tmp_path, f"{line}\nmore\n".encode()))
    expected = "head" if line == "I" else "paragraph"  # A line with nothing but a numeral begins a chapter.
    assert book.blocks[0].kind == expected


@given(st.binary(max_size=300))
def test_a_book_without_changes_is_the_same_file(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), b"text\n" * 300 + data[:15])
        book = read_book(path)
        assert write_book(book, {}, Path(folder) / "out.txt").read_bytes() == path.read_bytes()
        ids = [block.id for block in book.blocks]
        assert len(ids) == len(set(ids))
        spans = [(block.place.start, block.place.end) for block in book.blocks]
        assert all(end == start for (_, end), (start, _) in itertools.pairwise(spans))


def test_utf_16_is_text_though_its_bytes_look_like_control_characters(tmp_path: Path) -> None:
    text = "雨。\r" * 20  # 0x02 in every full stop.
    given = read_book(written(tmp_path, text.encode("utf-16-le")), encoding="utf-16-le")
    marked = read_book(written(tmp_path, b"\xff\xfe" + text.encode("utf-16-le")))
    assert given.text == marked.text == text


@given(
    st.lists(st.sampled_from(["雨。", "two words", "", "  ", "\t", "第一章", "déjà"]), max_size=20),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "gb18030", "utf-16-le"]),
)
def test_only_the_changed_paragraph_differs(lines: list[str], newline: str, encoding: str) -> None:
    text = newline.join(["开始。", *lines, "结束。"])
    with tempfile.TemporaryDirectory() as folder:
        book = read_book(written(Path(folder), text.encode(encoding)), encoding=encoding)
        assert "".join(block.text for block in book.blocks) == text
        result = write_book(book, {"1": "改。"}, Path(folder) / "out.txt").read_bytes()
    assert result == ("改。" + text.removeprefix("开始。")).encode(encoding)


def test_zeros_in_a_text_are_reported_and_stay_in_paragraphs_that_are_not_changed(tmp_path: Path) -> None:
    path = written(tmp_path, b"One\x00 teh.\n\nTwo.\n")
    book = read_book(path)
    assert book.blocks[0].text == "One\ufffd teh."
    assert "the first is at byte 3" in book.reports[0]
    assert write_book(book, {"2": "Three."}, tmp_path / "o.txt").read_bytes() == b"One\x00 teh.\n\nThree.\n"


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        (
            "book.docx",
            b"Just words.",
            "looks like a text file, which does not match its extension. Rename it to book.txt",
        ),
        ("book.epub", b"%PDF-1.7 ...", "is not a text file: it looks like a PDF"),
        ("book.epub", b"PK\x03\x04 broken", "is not a valid EPUB file, or is damaged"),
        ("book.txt", bytes(range(256)) * 4, "it looks like a binary file"),
    ],
)
def test_a_file_that_is_something_else_is_named(name: str, data: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(ff.Permanent, match=told):
        read_book(written(tmp_path, data, name))


def test_brackets_that_occur_in_a_text_are_no_markers(tmp_path: Path) -> None:
    book = read_book(written(tmp_path, "The meaning ⟦x⟧ of ⟦1⟧ is open: ⟧.\n".encode()))
    assert book.brackets.left not in book.text
    assert book.brackets.right not in book.text
