"""Words with a reading: proofreading keeps them whole and knows what they say; a translation translates them."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from fanfold.apps.proofread import proofread
from fanfold.apps.proofread.formats import Tracked, read_book, write_book
from fanfold.apps.proofread.translation import translate
from fanfold.testing import Engine
from tests.apps.proofread.answering import MARK, each
from tests.apps.proofread.archives import docx, epub, members_of
from tests.apps.proofread.test_forms import form

PAGE = (
    "<html><head><title>雨</title></head><body><p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>へ行った。</p>"
    "<p><ruby>全<rt>ぜん</rt>員<rt>いん</rt></ruby></p><p>これは<ruby><rb>文</rb><rt>ぶん</ruby>と<code>x=1</code>です。</p>"
    "</body></html>"
)
MEMBER = "OEBPS/text/one page.xhtml"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.epub"
    path.write_bytes(epub(PAGE))
    return path


def texts_of(path: Path, *, ruby_is_text: bool) -> list[str]:
    found = read_book(path, ruby_is_text=ruby_is_text).blocks
    return [block.text for block in found if block.place.member == MEMBER]


def test_a_translation_reads_the_word_and_not_its_reading(book: Path) -> None:
    assert texts_of(book, ruby_is_text=True) == ["雨", "東京へ行った。", "全員", "これは文と⟦1⟧です。"]
    assert texts_of(book, ruby_is_text=False) == ["雨", "へ行った。", "これは⟦1⟧と⟦2⟧です。"]


def test_a_translated_paragraph_has_no_readings_and_the_others_keep_them(book: Path, tmp_path: Path) -> None:
    found = read_book(book, ruby_is_text=True)
    names = {block.text: block.id for block in found.blocks}
    changed = {names["東京へ行った。"]: "We went to <Tokyo>.", names["これは文と⟦1⟧です。"]: "This is 文 and ⟦1⟧."}
    written = members_of(write_book(found, changed, tmp_path / "out.epub").read_bytes())[MEMBER].decode()
    first, second, third = written.partition("<body>")[2].split("</p>")[:3]
    assert (first, third) == ("<p>We went to &lt;Tokyo&gt;.", "<p>This is 文 and <code>x=1</code>.")
    assert second in PAGE


RUBY = (
    "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>かん</w:t></w:r></w:rt>"
    "<w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby></w:r>"
)


def test_word_documents_are_read_in_the_same_way(tmp_path: Path) -> None:
    source = f"<w:document xmlns:w='w'><w:p>{RUBY}<w:r><w:t>です</w:t></w:r></w:p><w:p>{RUBY}</w:p></w:document>"
    path = tmp_path / "book.docx"
    path.write_bytes(docx(source))
    assert [block.text for block in read_book(path).blocks][:1] == ["です"]
    found = read_book(path, ruby_is_text=True)
    assert [block.text for block in found.blocks][:2] == ["漢字です", "漢字"]
    for tracked in (None, Tracked()):
        made = write_book(found, {"1": "Kanji."}, tmp_path / "out.docx", tracked=tracked)
        document = members_of(made.read_bytes())["word/document.xml"].decode()
        first, second, _ = document.split("</w:p>")
        assert "かん" not in first
        assert first.count("Kanji.") == 1
        assert "<w:t>漢" not in first
        ElementTree.fromstring(document)
        assert second == f"<w:p>{RUBY}"


def test_a_model_is_told_what_markers_stand_for(engine: Engine, book: Path) -> None:
    engine.answer(each(lambda text: text.replace("です", "でした")))
    task = engine.submit(proofread, book, options={"model": "openai:large"}, straight_through=True)
    engine.run()
    [request] = engine.requests
    told = request.prompt.rpartition(MARK)[0]
    assert "⟦1⟧ is 文\n" in told
    assert "⟦2⟧ is x=1\n" in told
    page = members_of(engine.result(task)["file"].read_bytes())[MEMBER].decode()
    assert page == PAGE.replace("です", "でした")


def test_forms_for_people_have_the_words_of_markers(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "book.md"
    code = f"`ls -l {'x' * 200}`"
    path.write_text(f"Type {code} and read.\n")
    engine.answer(each(lambda text: text.replace("Type", "键入").replace("and read", "然后阅读")))
    options = {"model": "openai:large", "to": "zh", "terms": "never"}
    task = engine.submit(translate, path, options=options, straight_through=True)
    engine.run()
    assert form(engine, task, "bilingual").decode() == f"Type {code} and read.\n键入 {code} 然后阅读。\n\n"
    assert "x" * 100 not in engine.requests[0].prompt
