"""Emphasis, superscripts and links of a page are those of its Markdown."""

from pathlib import Path

from tests.apps.pdf.test_textlayer import converted
from tests.apps.pdf.writing import Sheet


def test_a_power_is_never_a_number(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.text(64, 700, "A cube of side 2 holds 2")
    sheet.text(190, 705, "3", size=7)
    sheet.text(200, 700, "cups of water, H")
    sheet.text(288, 697, "2", size=7)
    sheet.text(293, 700, "O for short.")
    [page] = converted(tmp_path / "a.pdf", sheet)
    assert "2<sup>3</sup> cups" in page.markdown
    assert "H<sub>2</sub>" in page.markdown


def test_small_capitals_are_not_raised(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.text(64, 700, "N")
    sheet.text(73, 700, "ATO", size=9)
    sheet.text(100, 700, "is an alliance of states.")
    [page] = converted(tmp_path / "a.pdf", sheet)
    assert "<su" not in page.markdown


def test_words_keep_their_emphasis(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.text(64, 700, "He said", "T")
    sheet.text(108, 700, "never", "I")
    sheet.text(140, 700, "and meant it.", "T")
    [page] = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == "He said *never* and meant it."


def test_words_in_typewriter_type_are_code(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.text(64, 700, "Call", "T")
    sheet.text(90, 700, "make_pdf", "M")
    sheet.text(152, 700, "for each page.", "T")
    [page] = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == "Call `make_pdf` for each page."


def test_a_link_has_its_address(tmp_path: Path) -> None:
    sheet = Sheet(links=[(63, 696, 118, 712, "https://example.org/a(b)")])
    sheet.text(64, 700, "The report", "R")
    sheet.text(125, 700, "is out since May.", "R")
    [page] = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == "[The report](https://example.org/a%28b%29) is out since May."
    assert page.lost is None


def test_an_address_that_links_to_itself_is_written_once(tmp_path: Path) -> None:
    sheet = Sheet(links=[(63, 696, 180, 712, "https://example.org/")])
    sheet.text(64, 700, "https://example.org", "R")
    [page] = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == "https://example.org"
