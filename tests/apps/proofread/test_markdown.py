"""Markdown: text is found, code and targets are protected, and the rest of the file stays byte-identical."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.apps.proofread import proofread
from fanfold.apps.proofread.formats import Book, read_book, write_book
from fanfold.testing import Engine
from tests.apps.proofread.answering import each

HARD_BREAK = "  "
SOURCE = f"""---
title: 雨夜
---

# 第一章 `code` 雨夜 #

雨下得 **很急**，见 [那条街](http://x.y/a_(b) "题") 和 <b>门</b>，`a, b` 与 $x_1$。
第二行。

> 引文第一行{HARD_BREAK}
> 引文第二行

- 第一项，
  继续
- 看图 ![一把伞](pic.png)

```python
print("不动, 的.")
```

| 甲 | 乙 |
|----|----|
| 一 | 二 [^1] |

<div>
html 块
</div>

    indented code

[^1]: 脚注文字

[ref]: http://example.com "标题"

结尾 [文字][ref] http://a.b/c?d=1 。
"""


@pytest.fixture
def book(tmp_path: Path) -> Book:
    (tmp_path / "book.md").write_text(SOURCE, encoding="utf-8")
    return read_book(tmp_path / "book.md")


def test_text_is_found_and_everything_else_is_protected(book: Book) -> None:
    assert [(block.kind.value, block.text) for block in book.blocks] == [
        ("head", "第一章 ⟦1⟧ 雨夜"),
        ("paragraph", "雨下得 **很急**，见 ⟦1⟧那条街⟦/1⟧ 和 ⟦2⟧门⟦3⟧，⟦4⟧ 与 ⟦5⟧。\n第二行。"),
        ("paragraph", "引文第一行\n引文第二行"),
        ("paragraph", "第一项，\n继续"),
        ("paragraph", "看图 ⟦1⟧一把伞⟦/1⟧"),
        ("cell", "甲"),
        ("cell", "乙"),
        ("cell", "一"),
        ("cell", "二"),
        ("paragraph", "脚注文字"),
        ("paragraph", "结尾 ⟦1⟧文字⟦/1⟧ ⟦2⟧ 。"),
    ]


@pytest.mark.parametrize(
    ("start", "change", "written"),
    [
        ("雨下得", ("那条街", "this street"), ("那条街", "this street")),
        ("引文", ("第二行", "末行"), ("> 引文第二行", "> 引文末行")),
        ("引文", ("\n", "\n中间\n"), ("> 引文第一行  \n", "> 引文第一行  \n> 中间\n")),
        ("看图", ("看图", "看\n图"), ("- 看图", "- 看\n  图")),
        ("二", ("二", "两"), ("| 二 [", "| 两 [")),
        ("脚注", ("文字", "text"), ("脚注文字", "脚注text")),
        ("第一章", ("雨夜", "夜雨"), ("` 雨夜", "` 夜雨")),
    ],
)
def test_only_the_changed_text_differs(
    book: Book, start: str, change: tuple[str, str], written: tuple[str, str], tmp_path: Path
) -> None:
    block = next(block for block in book.blocks if block.text.startswith(start))
    result = write_book(book, {block.id: block.text.replace(*change)}, tmp_path / "out.md").read_text(encoding="utf-8")
    assert result == SOURCE.replace(*written)


def test_encoding_and_newlines_are_kept(tmp_path: Path) -> None:
    data = "# 标题\r\n\r\n雨下得很急，这是我的。\r\n又一行的。\r\n".encode("gb18030")
    (tmp_path / "book.md").write_bytes(data)
    book = read_book(tmp_path / "book.md")
    result = write_book(book, {"2": "雨停了。\n又一行的。"}, tmp_path / "out.md").read_bytes()
    assert result == data.replace("雨下得很急，这是我的。".encode("gb18030"), "雨停了。".encode("gb18030"))
    assert write_book(book, {}, tmp_path / "utf.md", encoding="utf-8").read_bytes() == data.decode("gb18030").encode()


def test_prices_are_no_math(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("It costs $5 here and $6 there.\n", encoding="utf-8")
    assert read_book(tmp_path / "book.md").blocks[0].markers == ()


PIECES = st.lists(
    st.sampled_from(
        ["雨", "*a*", "`c`", "[x](y)", "![p](q)", "[", "]", "](", ")", "<b>", "\n", "\n\n", "> ", "- ",
         "    ", "# ", "|", "---", "$", "`", "\\"]
    ),
    max_size=25,
)  # fmt: skip


@given(PIECES)
def test_markdown_of_any_shape_survives(pieces: list[str]) -> None:
    source = "始\n\n" + "".join(pieces) + "\n\n终\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.md"
        path.write_text(source, encoding="utf-8")
        book = read_book(path)
        assert write_book(book, {}, Path(folder) / "same.md").read_bytes() == path.read_bytes()
        for block in book.blocks:
            data = write_book(book, {block.id: block.text + "。"}, Path(folder) / "out.md").read_bytes()
            start, end = block.place.start, block.place.end
            assert data[:start] + path.read_bytes()[start:end] + data[end + 3 :] == path.read_bytes()


def test_anchors_addresses_and_links_by_label_are_protected(tmp_path: Path) -> None:
    path = tmp_path / "book.md"
    path.write_text(
        "# Rain {#rain}\n\nSee [short], [text][] and [more][short], or ask me@x.org :smile: now.\n\n[short]: /a\n[text]: /b\n"
    )
    texts = [block.text for block in read_book(path).blocks]
    assert texts == ["Rain", "See ⟦1⟧, ⟦2⟧ and ⟦3⟧more⟦/3⟧, or ask ⟦4⟧ ⟦5⟧ now."]


def test_a_cell_with_an_escaped_bar_is_found(tmp_path: Path) -> None:
    path = tmp_path / "book.md"
    path.write_text("| one | a \\| b |\n|---|---|\n| two | c |\n")
    book = read_book(path)
    assert [block.text for block in book.blocks] == ["one", "a ⟦1⟧ b", "two", "c"]
    assert write_book(book, {"2": "x ⟦1⟧ b"}, tmp_path / "o.md").read_text().startswith("| one | x \\| b |\n")


@pytest.mark.parametrize(
    ("block", "text", "written"),
    [
        ("1", "Head\nof two", "# Head of two\n\n| one |\n|---|\n\nPlain text.\n"),
        ("2", "a|b\nc", "# Head\n\n| a\\|b c |\n|---|\n\nPlain text.\n"),
        ("3", "# No head\n\n1986. A year", "# Head\n\n| one |\n|---|\n\n\\# No head\n1986\\. A year\n"),
    ],
)
def test_a_new_text_begins_no_other_block(block: str, text: str, written: str, tmp_path: Path) -> None:
    path = tmp_path / "book.md"
    path.write_text("# Head\n\n| one |\n|---|\n\nPlain text.\n")
    made = write_book(read_book(path), {block: text}, tmp_path / "o.md")
    assert made.read_text() == written
    assert len(read_book(made).blocks) == 3


TEMPLATE = """---
title: Kept
...

\\begin{align*}
x &= y
\\end{align*}

::: warning
Mind the step.
:::

!!! note "A title"

- [ ] buy milk

{{< figure src="a.png" >}} Shown {% if x %} text, [[Some Page|named]] and [[Other]].
"""


def test_templates_environments_and_wiki_links_are_protected(tmp_path: Path) -> None:
    path = tmp_path / "book.md"
    path.write_text(TEMPLATE)
    assert [block.text for block in read_book(path).blocks] == [
        "Mind the step.",
        '"A title"',
        "buy milk",
        "Shown ⟦1⟧ text, ⟦2⟧named⟦3⟧ and ⟦4⟧.",
    ]


def test_a_rule_at_the_start_is_no_front_matter(tmp_path: Path) -> None:
    path = tmp_path / "book.md"
    path.write_text("---\n\nBetween two rules.\n\n---\n\nAfter.\n")
    assert [block.text for block in read_book(path).blocks] == ["Between two rules.", "After."]


def test_html_with_text_is_named_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "book.md"
    path.write_text("Text.\n\n<div>\nIn <b>HTML</b>.\n</div>\n\n<!-- no text -->\n\n<hr>\n")
    [note] = read_book(path).notes
    assert "1 block of HTML" in note
    assert "In HTML" in note


def test_an_answer_without_the_emphasis_of_its_source_is_asked_again(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "book.md"
    path.write_text("It was **very** late, he _thought_, in teh rain.\n\nA star * alone.\n")
    engine.answers(each(lambda text: text.replace("*", "").replace("teh", "the")))
    engine.answer(each(lambda text: text.replace("teh", "the")))
    task = engine.submit(proofread, path, options={"model": "openai:large"}, straight_through=True)
    engine.run()
    assert engine.result(task)["file"].read_text() == path.read_text().replace("teh", "the").replace(
        "A star * ", "A star  "
    )
    assert "marks of emphasis" in engine.requests[1].prompt
