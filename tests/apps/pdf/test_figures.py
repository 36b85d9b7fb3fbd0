"""Figures are found among rules, tables and boxes, stand at their captions, and are written as files."""

import io
import re
from pathlib import Path

import pytest
from PIL import Image

import fanfold as ff
from fanfold.apps.pdf import pdf
from fanfold.apps.pdf.output.placing import place
from fanfold.apps.pdf.pages.page_text import PageText
from fanfold.apps.pdf.pages.textlayer import convert
from fanfold.apps.pdf.reading import document
from tests.apps.pdf.writing import Pdf, Sheet

PROSE = "Rain in the northern basin has been declining since the first measurements were taken, which the figures show."
CAPTION = "Figure 1: Rain by quarter [in mm]"


def chart(sheet: Sheet, x: float, y: float) -> None:
    """A chart of bars with the labels of its axis."""
    for number, height in enumerate((60, 35, 90, 20)):
        sheet.operators.append(f"0.2 0.4 0.7 rg {x + 40 * number} {y} 22 {height} re f 0 g")
        sheet.text(x + 40 * number + 4, y - 9, f"Q{number + 1}", size=7)
    sheet.operators.append(f"0.5 w {x - 5} {y} m {x + 160} {y} l S {x - 5} {y} m {x - 5} {y + 95} l S")


def illustrated() -> Sheet:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    chart(sheet, 120, 600)
    sheet.text(120, 570, CAPTION)
    sheet.y = 540
    sheet.paragraph(PROSE)
    return sheet


def with_figures(path: Path, sheet: Sheet) -> PageText:
    path.write_bytes(Pdf([sheet]).written())
    examined = document.examine(path)
    (page,) = convert(path, examined.pages, examined.survey | {"figures": True})
    return page


def test_a_figure_stands_before_its_caption(tmp_path: Path) -> None:
    page = with_figures(tmp_path / "a.pdf", illustrated())
    assert "![Figure 1: Rain by quarter in mm](files/page-0001-1.png)\n\nFigure 1: Rain by quarter" in page.illustrated
    ((left, top, right, bottom),) = page.figures
    assert left < 118 < 278 < right  # with the labels of the axis
    assert top < 842 - 688
    assert bottom > 842 - 596
    assert "![" not in page.markdown


def test_tables_rules_and_boxes_around_text_are_no_figures(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    sheet.table((("Kind", "Count"), ("alder", "7"), ("birch", "9")), (120, 120))
    top = sheet.y + 20
    sheet.paragraph(PROSE)
    sheet.operators.append(f"0.5 w 58 {sheet.y + 10} 480 {top - sheet.y - 10} re S 64 80 m 500 80 l S")
    assert with_figures(tmp_path / "a.pdf", sheet).figures == ()


def test_figures_are_files_beside_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFOLD_DATA", str(tmp_path / "data"))
    (tmp_path / "a.pdf").write_bytes(Pdf([illustrated()]).written())
    result = ff.run(pdf, tmp_path / "a.pdf", options={"images": "figures"})
    placed = place(result, tmp_path / "out" / "a.md")
    markdown = placed.files[tmp_path / "out" / "a.md"]().decode()
    target = re.search(r"!\[[^\]]*\]\((files/[^)]+)\)", markdown)
    assert target is not None
    picture = Image.open(io.BytesIO(placed.files[tmp_path / "out" / target[1]]())).convert("RGB")
    red, _, blue = (channel.tobytes() for channel in picture.split())
    drawn = sum(one < 100 and other > 150 for one, other in zip(red, blue, strict=True))
    assert drawn > 0.05 * picture.width * picture.height
