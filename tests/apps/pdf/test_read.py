"""What `fanfold.apps.pdf.read` promises to other applications: the text, and the place of every word."""

import pickle
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.apps.pdf import read
from fanfold.apps.pdf.pages import ocr as recognition
from fanfold.apps.pdf.reading.pdf_text import Box, PdfText
from tests.apps.pdf.making import make_blank, make_broken, make_encrypted, make_pdf, make_scan
from tests.apps.pdf.writing import HEIGHT, WIDTH, Pdf, Sheet

PROSE = "We read the paper twice and noted each number with the page where it was found."


def written(path: Path, *sheets: Sheet) -> PdfText:
    path.write_bytes(Pdf(list(sheets)).written())
    return read(path, ocr="never")


def boxes(text: PdfText) -> dict[str, Box]:
    return {run.text: run.box for page in text.pages for line in page.lines for run in line.runs}


def close(box: Box, left: float, right: float, baseline: float) -> bool:
    """Whether a box has these edges, in points from the bottom left of the page, and stands on this baseline."""
    top, bottom = HEIGHT * (1 - box.y), HEIGHT * (1 - box.y - box.height)
    across = abs(box.x * WIDTH - left) < 2 and abs((box.x + box.width) * WIDTH - right) < 2
    return across and bottom - 1 <= baseline <= bottom + 5 and 8 < top - bottom < 20


def test_every_word_has_the_box_where_it_was_drawn(tmp_path: Path) -> None:
    sheet = Sheet()
    # A letter of Courier is 0.6 of the type size wide, a Chinese character is as wide as it is high.
    sheet.text(100, 700, "alpha beta, gamma", "M", 10)
    sheet.text(100, 500, "样本量为一百二十人", "C", 12)
    found = boxes(written(tmp_path / "a.pdf", sheet))
    assert close(found["alpha"], 100, 130, 700)
    assert close(found["beta,"], 136, 166, 700)
    assert close(found["gamma"], 172, 202, 700)
    assert close(found["样本量为"], 100, 148, 500)
    assert close(found["一百二十"], 148, 196, 500)


def test_the_offset_of_a_run_is_its_place_in_the_line(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE * 3)
    sheet.table((("Group", "Patients"), ("Treated", "104"), ("Control", "106")), (200, 100))
    (page,) = written(tmp_path / "a.pdf", sheet).pages
    assert page.lines
    for line in page.lines:
        for run in line.runs:
            assert line.text[run.start : run.start + len(run.text)] == run.text


def test_the_same_number_in_several_cells_has_the_box_of_each_cell(tmp_path: Path) -> None:
    sheet = Sheet()
    for row, y in enumerate((600, 580, 560)):
        for column, x in enumerate((100, 200, 300)):
            sheet.text(x, y, "12.5" if row else f"arm{column}", "M", 10)
    lines = written(tmp_path / "a.pdf", sheet).pages[0].lines
    assert [line.text for line in lines] == ["arm0\tarm1\tarm2", "12.5\t12.5\t12.5", "12.5\t12.5\t12.5"]
    for line, y in zip(lines[1:], (580, 560), strict=True):
        for run, x in zip(line.runs, (100, 200, 300), strict=True):
            assert close(run.box, x, x + 24, y)


def test_a_row_of_a_ruled_table_is_one_line_also_where_its_cells_are_wrapped(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE * 2)
    for at, cells in enumerate([(["Outcome"], ["Treated"]), (["Nausea of any", "kind or degree"], ["104"])]):
        top = 600 - 40 * at
        for column, lines in enumerate(cells):
            x = 64 + 150 * column
            sheet.operators.append(f"0.6 w {x} {top - 40} 150 40 re S")
            for number, line in enumerate(lines):
                sheet.text(x + 6, top - 14 - 14 * number, line, "R", 11)
    rows = [line for line in written(tmp_path / "a.pdf", sheet).pages[0].lines if "\t" in line.text]
    assert [row.text for row in rows] == ["Outcome\tTreated", "Nausea of any kind or degree\t104"]
    words = {run.text: run.box for run in rows[1].runs}
    assert words["kind"].y > words["Nausea"].y
    assert words["104"].x > words["any"].x
    for run in rows[1].runs:
        assert rows[1].text[run.start : run.start + len(run.text)] == run.text


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    sheet = Sheet()
    top = sheet.y
    for x, side in ((60, "left"), (320, "right")):
        sheet.y = top
        sheet.lines([f"the {side} column says a good deal {word}" for word in ("at first", "then", "later", "last")], x)
    (page,) = written(tmp_path / "a.pdf", sheet).pages
    assert ["left" in line.text for line in page.lines] == [True] * 4 + [False] * 4
    assert all((line.box.x < 0.5) == ("left" in line.text) for line in page.lines)


def test_headings_are_marked_and_running_lines_are_kept_aside(tmp_path: Path) -> None:
    titles = ["Introduction", "Methods", "Results", "Discussion", "References"]
    sheets = []
    for number, title in enumerate(titles, 1):
        sheet = Sheet()
        sheet.frame("Journal of Examples 12 (2020)", number)
        sheet.heading(1, title)
        sheet.paragraph(PROSE * (number + 2))
        sheets.append(sheet)
    text = written(tmp_path / "a.pdf", *sheets)
    for page in text.pages:
        assert [line.text for line in page.lines if line.heading] == [titles[page.number - 1]]
        assert "Journal of Examples 12 (2020)" in {line.text for line in page.running}
        assert not any("Journal" in line.text for line in page.lines)


@pytest.mark.parametrize(
    ("matrix", "box"),
    [
        ("0 1 -1 0 300 100", (288, HEIGHT - 100 - 30, 303, HEIGHT - 100)),
        ("-1 0 0 -1 300 100", (270, HEIGHT - 103, 300, HEIGHT - 88)),
        ("0 -1 1 0 300 700", (297, HEIGHT - 700, 312, HEIGHT - 670)),
    ],
    ids=["up", "over", "down"],
)
def test_turned_text_has_its_box_on_the_page_as_it_is_displayed(
    tmp_path: Path, matrix: str, box: tuple[float, float, float, float]
) -> None:
    sheet = Sheet()
    sheet.operators.append(f"BT /M 10 Tf {matrix} Tm (alpha beta gamma) Tj ET")
    text = written(tmp_path / "a.pdf", sheet)
    found = boxes(text)["alpha"]
    edges = (found.x * WIDTH, found.y * HEIGHT, (found.x + found.width) * WIDTH, (found.y + found.height) * HEIGHT)
    assert edges == pytest.approx(box, abs=4)
    assert (text.pages[0].width, text.pages[0].height) == (WIDTH, HEIGHT)


def test_one_stamp_at_another_angle_has_its_own_box(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE * 6)
    sheet.operators.append("BT /M 10 Tf 0 1 -1 0 30 300 Tm (received) Tj ET")
    found = boxes(written(tmp_path / "a.pdf", sheet))["received"]
    assert found.x * WIDTH == pytest.approx(20, abs=5)
    assert (found.y + found.height) * HEIGHT == pytest.approx(HEIGHT - 300, abs=5)
    assert found.height * HEIGHT == pytest.approx(48, abs=8)


def test_only_the_named_pages_are_read(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", ["first page", "second page", "third page"])
    for pages in ("2-3", [2, 3]):
        text = read(path, pages=pages)
        assert [page.number for page in text.pages] == [2, 3]
        assert text.total == 3


@pytest.mark.skipif(not recognition.available(), reason="the extra `ocr` is not installed")
@pytest.mark.parametrize("rotation", [0, 90, 180])
def test_a_scanned_page_is_read_by_ocr_with_boxes_on_the_displayed_page(tmp_path: Path, rotation: int) -> None:
    path = make_scan(tmp_path / "scan.pdf", [f"{PROSE[:40]}\n\n{PROSE[40:]}"], rotation)
    (page,) = read(path).pages
    assert page.source == "ocr"
    assert "paper" in page.lines[0].text
    first, last = page.lines[0].box, page.lines[-1].box
    if rotation == 0:
        assert first.y < last.y
        assert first.width > first.height
    elif rotation == 180:
        assert first.y > last.y
    else:
        # Turned clockwise, the first line is the one on the right.
        assert first.x > last.x
        assert first.height > first.width


def test_a_page_without_text_has_a_problem_unless_it_is_blank(tmp_path: Path) -> None:
    (page,) = read(make_scan(tmp_path / "scan.pdf", [PROSE]), ocr="never").pages
    assert not page.lines
    assert page.problem is not None
    assert "image without a text layer" in page.problem
    (blank,) = read(make_blank(tmp_path / "blank.pdf")).pages
    assert (blank.lines, blank.problem) == ([], None)


def test_an_encrypted_document_needs_its_password(tmp_path: Path) -> None:
    path = make_encrypted(tmp_path / "locked.pdf", "secret", ["behind a password"])
    with pytest.raises(ff.Permanent, match="encrypted"):
        read(path)
    with pytest.raises(ff.Permanent, match="does not open"):
        read(path, password="wrong")
    assert read(path, password="secret").pages[0].lines[0].text == "behind a password"


def test_a_document_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(ff.Permanent, match=r"paper\.pdf is damaged"):
        read(make_broken(tmp_path / "a.pdf"), name="paper.pdf")


def test_the_text_can_be_sent_between_processes(tmp_path: Path) -> None:
    text = read(make_pdf(tmp_path / "a.pdf", ["first page"]))
    assert pickle.loads(pickle.dumps(text)) == text
