"""The sample has every kind of page, and the PDFs that tests make are what their names say."""

import subprocess
import sys
from pathlib import Path

import pypdfium2
import pytest
from liteparse import LiteParse
from PIL import ImageStat

from fanfold.apps.pdf.sample import SAMPLE
from tests.apps.pdf.making import (
    make_blank,
    make_blank_scan,
    make_broken,
    make_damaged,
    make_encrypted,
    make_pdf,
    make_scan,
)
from tests.apps.pdf.sample_document import CHINESE, CHINESE_HEADING, RUNNING_HEADER, TITLE, write_sample


@pytest.fixture(scope="module")
def sample() -> Path:
    return SAMPLE


def texts(path: Path, password: str | None = None) -> list[str]:
    """The text layer of each page."""
    with pypdfium2.PdfDocument(path, password=password) as document:
        return [page.get_textpage().get_text_range().replace("\r\n", "\n") for page in document]


def contrast(path: Path, page: int = 0) -> float:
    """How far the pixels of a page are from being all the same."""
    with pypdfium2.PdfDocument(path) as document:
        picture = document[page].render(scale=0.5, grayscale=True).to_pil().convert("L")
    return float(ImageStat.Stat(picture).stddev[0])


def markdown(path: Path) -> str:
    parser = LiteParse(ocr_enabled=False, output_format="markdown", quiet=True)
    return str(parser.parse(str(path)).text)


def test_the_sample_is_the_one_that_is_made_here_and_small(sample: Path, tmp_path: Path) -> None:
    """But for the bytes of its picture, which depend on the libraries that draw and compress it."""
    made = tmp_path / "made.pdf"
    write_sample(made)
    assert texts(made) == texts(sample)
    assert contrast(made, 3) == pytest.approx(contrast(sample, 3), rel=0.1)
    assert sample.stat().st_size < 100_000


def test_the_sample_can_be_copied_by_anybody(sample: Path, tmp_path: Path) -> None:
    copy = tmp_path / "book.pdf"
    subprocess.run([sys.executable, "-m", "fanfold.apps.pdf.sample", str(copy)], check=True, timeout=60)
    assert copy.read_bytes() == sample.read_bytes()


def test_a_hyphenated_word_runs_over_the_first_page_break(sample: Path) -> None:
    first, second, *_ = texts(sample)
    # The header and the number of the page are drawn last, so they come last in the text layer.
    assert RUNNING_HEADER in first
    assert first.partition(RUNNING_HEADER)[0].rstrip().endswith(("perfo-", "perfo\ufffe", "perfo\x02"))
    assert second.startswith("rated beforehand.")


def test_tables_lists_and_code_are_found(sample: Path) -> None:
    found = markdown(sample)
    assert f"# {TITLE}\n" in found
    assert "| Invoices of a year | 3650 | 2 | 2 h 2 min |" in found
    assert "- One spoiled page is marked" in found
    assert "4. Join the parts" in found
    assert "page.print()" in found


def test_columns_are_read_one_after_the_other(sample: Path) -> None:
    found = markdown(sample)
    assert found.index("without losing the line") < found.index("A text in two columns")


def test_the_scanned_page_has_a_picture_and_no_text(sample: Path) -> None:
    assert texts(sample)[3] == ""
    assert contrast(sample, 3) > 5


def test_the_chinese_text_is_extracted_by_both_libraries(sample: Path) -> None:
    expected = CHINESE_HEADING + "".join(CHINESE)
    assert texts(sample)[4].replace("\n", "").startswith(expected)
    assert f"## {CHINESE_HEADING}" in markdown(sample)


def test_the_last_page_is_blank_and_nothing_but_blank(sample: Path) -> None:
    assert texts(sample)[5] == ""
    assert contrast(sample, 5) == 0
    assert len(texts(sample)) == 6


def test_the_headings_are_bookmarks(sample: Path) -> None:
    with pypdfium2.PdfDocument(sample) as document:
        outline = [(mark.level, mark.get_title(), mark.get_dest().get_index()) for mark in document.get_toc()]
    assert outline[:3] == [(0, TITLE, 0), (1, "A sheet that pretends to be many", 0), (2, "The edge", 0)]
    assert outline[-1] == (1, CHINESE_HEADING, 4)
    assert len(outline) == 10


def test_every_page_with_a_text_layer_has_header_and_number(sample: Path) -> None:
    for number in (1, 2, 3, 5):
        page = texts(sample)[number - 1]
        assert page.endswith(f"{RUNNING_HEADER}\n{number}")


def test_600_pages_of_text_can_be_made(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "long.pdf", [f"# Page {number}\nText of it." for number in range(1, 601)])
    assert [text.split("\n")[0] for text in texts(path)] == [f"Page {number}" for number in range(1, 601)]


@pytest.mark.parametrize("rotation", [0, 2, 90, 180])
def test_a_scan_has_only_a_picture(tmp_path: Path, rotation: float) -> None:
    path = make_scan(tmp_path / "scan.pdf", ["One line of text"], rotation)
    assert texts(path) == [""]
    assert contrast(path) > 1


def test_a_blank_page_is_blank_with_and_without_a_picture(tmp_path: Path) -> None:
    assert contrast(make_blank(tmp_path / "blank.pdf")) == 0
    assert contrast(make_blank_scan(tmp_path / "scan.pdf")) == 0
    assert texts(make_blank(tmp_path / "three.pdf", 3)) == ["", "", ""]


def test_an_encrypted_pdf_opens_with_either_password_only(tmp_path: Path) -> None:
    path = make_encrypted(tmp_path / "locked.pdf", "open sesame", ["# Secret\nIt is here."])
    assert texts(path, "open sesame") == texts(path, "owner") == ["Secret\nIt is here."]
    for wrong in (None, "wrong"):
        with pytest.raises(pypdfium2.PdfiumError, match="password"):
            pypdfium2.PdfDocument(path, password=wrong)


def test_a_broken_pdf_does_not_open_and_a_damaged_one_does(tmp_path: Path) -> None:
    with pytest.raises(pypdfium2.PdfiumError):
        pypdfium2.PdfDocument(make_broken(tmp_path / "broken.pdf"))
    assert texts(make_damaged(tmp_path / "damaged.pdf", ["first", "second"])) == ["first", "second"]
