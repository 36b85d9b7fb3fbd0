"""The text layer of a page becomes the Markdown that a person would write."""

import pickle
from pathlib import Path

import pytest

from fanfold.apps.pdf.pages import textlayer
from fanfold.apps.pdf.pages.page_text import PageText
from fanfold.apps.pdf.pages.textlayer import convert
from fanfold.apps.pdf.reading import document
from tests.apps.pdf.making import make_blank, make_pdf, make_scan, photograph
from tests.apps.pdf.sample_document import CHINESE, CHINESE_HEADING, CODE, RUNNING_HEADER, TITLE, write_sample
from tests.apps.pdf.writing import Pdf, Sheet

PROSE = (
    "Paper is patient, says a proverb, and a printer is not. What both have in common is that they "
    "take one line after the other, and that neither of them cares what stands on it, as long as it "
    "fits between the left edge and the right one. Whoever writes cares about nothing else."
)

FORM = b"""%PDF-1.5
1 0 obj << /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [5 0 R 6 0 R] >> >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Annots [5 0 R 6 0 R]
  /Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >> endobj
4 0 obj << /Length 57 >> stream
BT /F 12 Tf 72 700 Td (Name:) Tj 0 -30 Td (Agreed:) Tj ET
endstream endobj
5 0 obj << /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada Lovelace) /Rect [150 695 400 715] >> endobj
6 0 obj << /Type /Annot /Subtype /Widget /FT /Btn /T (ok) /V /Yes /AS /Yes /Rect [150 665 165 680] >> endobj
trailer << /Root 1 0 R /Size 7 >>
%%EOF
"""
"""A form with one field filled in and one box ticked; it has no table of its objects, which readers make up for."""


def converted(path: Path, *sheets: Sheet) -> list[PageText]:
    path.write_bytes(Pdf(list(sheets)).written())
    examined = document.examine(path)
    return convert(path, examined.pages, examined.survey)


def sheet_of(*paragraphs: str) -> Sheet:
    sheet = Sheet()
    for paragraph in paragraphs:
        sheet.paragraph(paragraph)
    return sheet


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[PageText]:
    path = tmp_path_factory.mktemp("sample") / "sample.pdf"
    write_sample(path)
    examined = document.examine(path)
    return convert(path, examined.pages, examined.survey)


def test_headings_have_the_levels_of_the_outline(sample: list[PageText]) -> None:
    assert sample[0].markdown.startswith(f"# {TITLE}\n\n")
    assert "\n## A sheet that pretends to be many\n" in sample[0].markdown
    assert "\n### The edge\n" in sample[0].markdown
    assert sample[0].markdown.count("\n#") == 4


def test_a_size_that_the_outline_knows_has_its_level_where_the_outline_is_silent(tmp_path: Path) -> None:
    known, silent = Sheet(), Sheet()
    for sheet in (known, silent):
        sheet.heading(1, "In large type")
        sheet.paragraph(PROSE)
        sheet.heading(3, "In small type")
        sheet.paragraph(PROSE)
    known.headings = [(1, "In large type", 0), (2, "In small type", 0)]
    silent.headings = []
    for page in converted(tmp_path / "a.pdf", known, silent):
        assert page.markdown.startswith("# In large type\n")
        assert "\n## In small type\n" in page.markdown


def test_a_paragraph_is_one_line_without_breaks_nobody_meant(sample: list[PageText]) -> None:
    for page in sample[:3]:
        assert "  \n" not in page.markdown
    assert "for as long as there is paper in the box.\n\n" in sample[0].markdown


def test_lists_tables_and_code_are_what_they_were(sample: list[PageText]) -> None:
    assert "\n- Every page is small enough" in sample[0].markdown
    assert "\n1. Split the work along its folds.\n2. Do one part" in sample[1].markdown
    assert "| Work | Items | Seconds each | In one breath |\n|---|---|---|---|\n" in sample[1].markdown
    assert f"```\n{CODE.strip()}\n```" in sample[1].markdown


def test_columns_are_read_one_after_the_other(sample: list[PageText]) -> None:
    assert sample[2].markdown.endswith("it is the last one of the page.")
    assert "like a ribbon.\n\nProgrammers used to" in sample[2].markdown


def test_chinese_lines_are_joined_without_spaces(sample: list[PageText]) -> None:
    assert sample[4].markdown == "\n\n".join([f"## {CHINESE_HEADING}", *CHINESE])


def test_running_headers_and_page_numbers_are_dropped(sample: list[PageText]) -> None:
    for page in sample:
        assert RUNNING_HEADER not in page.markdown
        assert not page.markdown.endswith(f"\n{page.page}")


def test_scanned_and_empty_pages_ask_for_a_look_at_their_picture(tmp_path: Path, sample: list[PageText]) -> None:
    assert [page.page for page in sample if page.needs_ocr] == [4, 6]
    for path in (make_scan(tmp_path / "scan.pdf", ["a letter"]), make_blank(tmp_path / "blank.pdf")):
        examined = document.examine(path)
        assert convert(path, [1], examined.survey) == [PageText(1, "", "", needs_ocr=True)]


def test_a_scan_with_a_stamp_on_it_is_a_scan(tmp_path: Path) -> None:
    sheets = []
    for _number in range(4):
        sheet = Sheet(picture=photograph("a letter", 0))
        sheet.text(72, 815, "Made with a program that writes this line on all pages until it is paid")
        sheets.append(sheet)
    assert all(page.needs_ocr for page in converted(tmp_path / "a.pdf", *sheets))


def test_a_page_with_few_words_and_no_picture_is_what_it_says(tmp_path: Path) -> None:
    (page,) = converted(tmp_path / "a.pdf", sheet_of("Part Two"))
    assert (page.markdown, page.needs_ocr) == ("Part Two", False)


def test_a_page_is_the_same_whatever_pages_are_read_with_it(tmp_path: Path) -> None:
    path = tmp_path / "sample.pdf"
    write_sample(path)
    examined = document.examine(path)
    together = convert(path, examined.pages, examined.survey)
    alone = [convert(path, [page], examined.survey)[0] for page in examined.pages]
    assert together == alone
    assert convert(path, [3, 1], examined.survey) == [together[2], together[0]]


def test_results_can_be_sent_between_processes(sample: list[PageText]) -> None:
    assert pickle.loads(pickle.dumps(sample)) == sample


def test_no_pages_asked_none_read(tmp_path: Path) -> None:
    assert convert(make_pdf(tmp_path / "one.pdf", ["text"]), [], {}) == []


def test_a_survey_that_knows_nothing_still_gives_text(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "one.pdf", ["plain words"])
    assert convert(path, [1], {})[0].markdown == "plain words"


def test_a_heading_of_body_size_in_bold_is_not_part_of_its_paragraph(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    sheet.lines(["5.1   Hyper Parameter Optimization"], font="B", lead=15)
    sheet.paragraph(PROSE)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == f"{PROSE}\n\n# 5.1 Hyper Parameter Optimization\n\n{PROSE}"


def test_only_the_title_that_runs_in_is_bold(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.operators.append(
        f"BT /B 12 Tf 72 {sheet.y:g} Td (Typewriters:) Tj /R 12 Tf ( In the year 1964 a machine was introduced that) Tj ET"
    )
    sheet.y -= 15
    sheet.paragraph("combined a typewriter with a tape, which could be played as often as it took to get it right.")
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown.startswith("**Typewriters:** In the year 1964 a machine was introduced that combined a")


def test_quotes_and_dashes_are_those_of_the_document(tmp_path: Path) -> None:
    (page,) = converted(tmp_path / "a.pdf", sheet_of("“Don’t,” she said — it’s ‘late’, 1990–1995 or so."))
    assert page.markdown == "“Don’t,” she said — it’s ‘late’, 1990–1995 or so."


def test_words_split_at_the_end_of_a_line_are_whole_again(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.lines(["This is what a line of a justified paragraph looks like when the type-", "setter split a word."])
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "when the typesetter split a word." in page.markdown


def test_lines_ended_on_purpose_stay_lines(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    sheet.lines(["Report: 17", "Warehouse: East", "Prepared by: Sarah"])
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown.endswith("Report: 17  \nWarehouse: East  \nPrepared by: Sarah")


def test_what_looks_like_markup_is_escaped(tmp_path: Path) -> None:
    (page,) = converted(tmp_path / "a.pdf", sheet_of("# not a heading, *no* emphasis, <b>no tag</b>, snake_case"))
    assert page.markdown == r"\# not a heading, \*no\* emphasis, \<b>no tag\</b>, snake_case"


def test_the_first_line_of_a_paragraph_is_no_header_however_often_it_is_said(tmp_path: Path) -> None:
    """Forms and letters begin alike on every page; what belongs to a paragraph is never dropped."""
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"
    make_pdf(tmp_path / "letters.pdf", [f"This is letter {n}, and it says: {words} and {words}." for n in range(1, 6)])
    known = document.examine(tmp_path / "letters.pdf")
    pages = textlayer.convert(tmp_path / "letters.pdf", known.pages, known.survey)
    assert [page.markdown.startswith(f"This is letter {page.page}, and") for page in pages] == [True] * 5


def test_a_header_that_counts_pages_is_known_by_its_counting(tmp_path: Path) -> None:
    sheets = []
    for number in range(1, 6):
        sheet = sheet_of(f"Exhibit {number * 7} begins here", PROSE)
        sheet.text(72, 810, f"Annual Report  page {number + 10}")
        sheets.append(sheet)
    for page in converted(tmp_path / "a.pdf", *sheets):
        assert "Annual Report" not in page.markdown
        assert f"Exhibit {page.page * 7} begins here" in page.markdown


def test_a_table_without_rules_is_a_table(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for row in (("Pressure", "142 mmHg", "high"), ("Rate", "78 bpm", "normal"), ("Oxygen", "97 %", "normal")):
        for x, cell in zip((72, 220, 370), row, strict=True):
            sheet.text(x, sheet.y, cell)
        sheet.y -= 20
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "| Rate | 78 bpm | normal |" in page.markdown


def test_references_numbered_without_points_are_one_paragraph_each(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for number, lines in enumerate(
        (
            ["Wroe D. A campaign angers members of", "the house. The Age 2004."],
            ["Mackay J. Atlas."],
            ["Lee K. On", "maps."],
        ),
        1,
    ):
        sheet.text(64, sheet.y, str(number), size=10)
        for line in lines:
            sheet.text(80, sheet.y, line, size=10)
            sheet.y -= 12
    (page,) = converted(tmp_path / "a.pdf", sheet)
    for expected in (
        "Wroe D. A campaign angers members of the house. The Age 2004.",
        "Mackay J. Atlas.",
        "Lee K. On maps.",
    ):
        assert any(part.endswith(expected) for part in page.markdown.split("\n"))


def test_what_was_filled_into_a_form_is_read_with_it(tmp_path: Path) -> None:
    path = tmp_path / "form.pdf"
    path.write_bytes(FORM)
    page = convert(path, [1], document.examine(path).survey)[0]
    assert page.markdown == "Name: Ada Lovelace\n\nAgreed: ☒"


@pytest.mark.parametrize("number", ["7", "- 7 -", "Page 7 of 12", "vii", "第 7 页 共 11 页", "7 / 12"])
def test_page_numbers_are_known_in_their_usual_forms(tmp_path: Path, number: str) -> None:
    sheet = sheet_of(PROSE)
    sheet.text(280, 40, number, "C" if "页" in number else "R")
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == PROSE


@pytest.mark.parametrize("matrix", ["0 1 -1 0 {} 100", "-1 0 0 -1 500 {}"], ids=["side", "head"])
def test_text_that_lies_on_its_side_or_stands_on_its_head_is_read_in_order(tmp_path: Path, matrix: str) -> None:
    lines = ["The first line of a page", "that was turned round,", "and the last one."]
    sheet = Sheet()
    for number, line in enumerate(lines):
        sheet.operators.append(f"BT /R 12 Tf {matrix.format(100 + 20 * number)} Tm ({line}) Tj ET")
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == " ".join(lines)


def test_a_page_that_cannot_be_judged_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_pdf(tmp_path / "two.pdf", ["first", "second"])
    real = textlayer._blocks
    monkeypatch.setattr(textlayer, "_blocks", lambda raw, *known: 1 / (raw.number - 1) and real(raw, *known))
    first, second = convert(path, [1, 2], document.examine(path).survey)
    assert first.problem is not None
    assert "division" in first.problem
    assert (second.markdown, second.problem) == ("second", None)
