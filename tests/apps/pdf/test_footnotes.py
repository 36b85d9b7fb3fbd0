"""Footnotes are notes of the Markdown, with labels that occur once in a document."""

from pathlib import Path

from fanfold.apps.pdf.output.footnote_labels import distinct
from tests.apps.pdf.test_textlayer import converted
from tests.apps.pdf.writing import Sheet


def noted(mark: str = "1") -> Sheet:
    sheet = Sheet()
    sheet.text(64, 700, "The stations report more variable values", size=11)
    sheet.text(270, 704, mark, size=6)
    sheet.text(276, 700, "than the older series had suggested so far.", size=11)
    sheet.y = 680
    sheet.paragraph("We compare both series and describe how the differences arise from the instruments. " * 3)
    sheet.text(64, 104, mark, size=5)
    sheet.text(68, 100, "Only those above the tree line are counted here, and not", size=8)
    sheet.text(64, 90, "those in the valley.", size=8)
    return sheet


def test_a_raised_mark_and_the_small_lines_below_are_a_footnote(tmp_path: Path) -> None:
    (page,) = converted(tmp_path / "a.pdf", noted())
    assert "variable values[^1] than the older" in page.markdown
    assert page.markdown.endswith("[^1]: Only those above the tree line are counted here, and not those in the valley.")
    assert page.lost is None


def test_small_lines_whose_number_no_text_refers_to_stay_text(tmp_path: Path) -> None:
    sheet = noted()
    sheet.operators = [operator for operator in sheet.operators if "270 704" not in operator]
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "[^" not in page.markdown
    assert "above the tree line" in page.markdown


def test_notes_numbered_from_1_on_each_page_get_labels_of_their_own() -> None:
    pages = [(1, "a[^1]\n\n[^1]: first"), (2, "b[^1] c[^2]\n\n[^1]: second\n[^2]: third")]
    assert list(distinct(pages)) == [pages[0], (2, "b[^1-2] c[^2]\n\n[^1-2]: second\n[^2]: third")]
