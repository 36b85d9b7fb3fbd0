"""Displayed formulas of TeX documents are LaTeX where fonts and places leave no doubt, and else plain text."""

from pathlib import Path

import pytest

from fanfold.apps.pdf.formulas.building import Uncertain, built
from fanfold.apps.pdf.formulas.math_signs import Sign, latex_of
from fanfold.apps.pdf.pages.textlayer import convert
from fanfold.apps.pdf.reading import document
from tests.apps.pdf import writing
from tests.apps.pdf.test_textlayer import converted
from tests.apps.pdf.writing import Pdf, Sheet

PROSE = "Rain in the northern basin has been declining since the first measurements were taken, which the model shows."


def sign(latex: str, x: float, base: float = 100.0, size: float = 10.0, kind: str = "plain") -> Sign:
    """A sign that is half as wide as high."""
    return Sign(latex, x, x + size / 2, base - 0.7 * size, base, base, size, kind)


def test_small_signs_above_and_below_the_line_are_scripts() -> None:
    signs = [sign("x", 0), sign("i", 5, 102, 7), sign("2", 9, 96, 7), sign("=", 16), sign("y", 24)]
    assert built(signs, ()) == "x_{i}^{2} = y"


def test_signs_above_and_below_a_rule_are_a_fraction_and_its_fractions_are_inside() -> None:
    signs = [sign("y", 0), sign("=", 8), sign("1", 23, 92), sign("a", 18, 110), sign("+", 24, 110)]
    inner = [sign("b", 31, 106, 7), sign("c", 31, 117, 7)]
    assert built([*signs, *inner], [(97, 16, 36), (109, 30, 35)]) == r"y = \frac{1}{a + \frac{b}{c}}"


def test_a_root_ends_with_its_rule() -> None:
    radical = Sign("", 0, 8, 90, 102, 90, 10, "radical")
    assert built([radical, sign("x", 9), sign("+", 16), sign("1", 24)], [(90, 8, 15)]) == r"\sqrt{x} + 1"


def test_operators_and_named_functions_have_limits() -> None:
    total = Sign(r"\sum", 10, 22, 88, 104, 88, 10, "operator")
    limits = [sign("n", 14, 86, 7), sign("i", 10, 112, 7), sign("=", 14, 112, 7), sign("1", 18, 112, 7)]
    assert built([total, *limits, sign("a", 26)], ()) == r"\sum_{i = 1}^{n} a"
    name = [sign(letter, 5 * at, kind="roman") for at, letter in enumerate("max")]
    assert built([*name, sign("t", 5, 107, 7), sign("f", 18)], ()) == r"\max_{t} f"


def test_an_accent_is_around_its_letter() -> None:
    accent = Sign(r"\hat", 0, 5, 90, 92, 100, 10, "accent")
    assert built([sign("x", 0), accent, sign("=", 8), sign("y", 16)], ()) == r"\hat{x} = y"


@pytest.mark.parametrize(
    "signs",
    [
        [sign("a", 0, 90), sign("b", 0, 112), sign("=", 10)],  # a matrix or two lines
        [sign("a", 0), sign("+", 8), sign("1", 14, 94, 7), sign("z", 14, 104, 7)],  # a fraction without its rule
        [Sign("", 0, 8, 90, 102, 90, 10, "radical"), sign("x", 9)],  # a root without its rule
        [],
    ],
)
def test_what_does_not_fit_is_uncertain(signs: list[Sign]) -> None:
    with pytest.raises(Uncertain):
        built(signs, ())


@pytest.mark.parametrize(
    ("text", "font", "latex"),
    [
        ("α", "CMMI10", r"\alpha"),
        ("β", "CMMIB10", r"\boldsymbol{\beta}"),
        ("L", "CMSY10", r"\mathcal{L}"),
        ("R", "MSBM10", r"\mathbb{R}"),
        ("X", "CMEX10", r"\sum"),
        ("\x12", "CMEX10", "("),
        ("x", "CMBX10", r"\mathbf{x}"),
    ],
)
def test_the_font_says_what_a_letter_means(text: str, font: str, latex: str) -> None:
    found = latex_of(text, font)
    assert found is not None
    assert found[0] == latex


def test_letters_of_unknown_fonts_are_not_guessed() -> None:
    assert latex_of("x", "Helvetica") is None
    assert latex_of("0", "CMEX10") is None  # a part of a tall bracket


def displayed(sheet: Sheet, y: float, parts: list[tuple[float, float, str, str, float]]) -> None:
    """A formula of pieces with their place, text, font and size."""
    for x, rise, text, font, size in parts:
        sheet.text(x, y + rise, text, font, size)


@pytest.fixture(autouse=True)
def tex_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(writing.FONTS, "X", "CMMI10")
    monkeypatch.setitem(writing.FONTS, "Y", "CMR10")


def test_a_displayed_formula_is_latex_with_its_number(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    y = sheet.y - 4
    displayed(sheet, y, [(200, 0, "y", "X", 12), (215, 0, "=", "Y", 12), (226, 0, "a", "X", 12), (234, 5, "2", "Y", 8)])
    displayed(sheet, y, [(243, 0, "+", "Y", 12), (254, 0, "b", "X", 12), (480, 0, "(7)", "Y", 12)])
    sheet.y = y - 30
    sheet.paragraph(PROSE)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == f"{PROSE}\n\n$$\ny = a^{{2}} + b \\tag{{7}}\n$$\n\n{PROSE}"
    assert page.lost is None


def test_a_formula_may_begin_with_the_name_of_a_function(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    y = sheet.y - 4
    displayed(
        sheet, y, [(200, 0, "log", "Y", 12), (222, 0, "y", "X", 12), (232, 0, "=", "Y", 12), (244, 0, "x", "X", 12)]
    )
    sheet.text(64, 200, "z", "X")
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert r"\log y = x" in page.markdown


def test_words_beside_mathematics_stay_text(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    y = sheet.y - 4
    displayed(sheet, y, [(200, 0, "y", "X", 12), (215, 0, "= 0", "Y", 12), (240, 0, "otherwise", "Y", 12)])
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "$$" not in page.markdown
    assert "$y = 0$ otherwise" in page.markdown


Parts = list[tuple[float, float, str, str, float]]


def in_text(path: Path, parts: Parts) -> str:
    """A paragraph whose second line has words and a formula."""
    sheet = Sheet()
    sheet.text(64, 720, "This is the first line of a paragraph that has a formula in its next one,")
    displayed(sheet, 703, parts)
    sheet.text(64, 686, "and this is its last line.")
    (page,) = converted(path / "inline.pdf", sheet)
    assert page.lost is None
    return page.markdown.split("next one, ")[1].split(" and this is")[0]


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        ([(94, 0, "n", "X", 12)], "$n$"),
        ([(94, 0, "x", "X", 12), (101, -3, "i", "X", 8)], "$x_{i}$"),
        ([(94, 0, "x", "X", 12), (101, 5, "2", "Y", 8), (110, 0, "=", "Y", 12), (121, 0, "y", "X", 12)], "$x^{2} = y$"),
        ([(94, 0, "f", "X", 12), (100, 0, "(", "Y", 12), (104, 0, "x", "X", 12), (110, 0, ")", "Y", 12)], "$f ( x )$"),
        ([(90, 0, "(", "Y", 12), (94, 0, "a", "X", 12), (101, 0, ")", "Y", 12)], "($a$)"),
        ([(94, 0, "k", "X", 12), (101, 0, ",", "Y", 12)], "$k$,"),
        ([(94, 0, "x", "X", 12), (101, -3, "max", "Y", 8)], r"$x_{\max}$"),
    ],
)
def test_a_formula_in_a_line_is_latex(tmp_path: Path, parts: Parts, written: str) -> None:
    words: Parts = [(64, 0, "with", "R", 12), (150, 0, "in the middle of it", "R", 12)]
    assert in_text(tmp_path, [words[0], *parts, words[1]]) == f"with {written} in the middle of it"


@pytest.mark.parametrize(
    "parts",
    [
        # Figures in the font of the text are no formula, and a price is no mark of one.
        [(94, 0, "2", "Y", 12), (101, 5, "3", "Y", 8)],
        [(94, 0, "$5", "R", 12), (114, 0, "n", "X", 12)],
        # A sign that is not known.
        [(94, 0, "x", "X", 12), (100, 0, "#", "X", 12)],
        # A relation without its other side, which may be on the next line.
        [(94, 0, "x", "X", 12), (106, 0, "=", "Y", 12)],
    ],
)
def test_what_is_not_certain_stays_text(tmp_path: Path, parts: Parts) -> None:
    found = in_text(tmp_path, [(64, 0, "with", "R", 12), *parts, (150, 0, "in the middle of it", "R", 12)])
    assert "$" not in found.replace("$5", "")
    assert found.startswith("with ")
    assert found.endswith(" in the middle of it")


def test_the_plain_text_of_a_page_keeps_its_characters(tmp_path: Path) -> None:
    sheet = Sheet()
    displayed(sheet, 703, [(64, 0, "Let", "R", 12), (86, 0, "n", "X", 12), (98, 0, "be a number.", "R", 12)])
    (page,) = converted(tmp_path / "plain.pdf", sheet)
    assert page.markdown == "Let $n$ be a number."
    assert page.text == "Let n be a number."


def test_a_formula_that_stays_text_is_a_picture_too_if_figures_are_wanted(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    y = sheet.y - 4
    # Signs that are not known, as in a matrix.
    displayed(
        sheet, y, [(200, 0, "y", "X", 12), (215, 0, "=", "Y", 12), (226, 0, "#", "X", 12), (240, 0, "a", "X", 12)]
    )
    sheet.y = y - 30
    sheet.paragraph(PROSE)
    path = tmp_path / "a.pdf"
    path.write_bytes(Pdf([sheet]).written())
    survey = document.examine(path).survey
    (page,) = convert(path, [1], survey)
    assert (page.figures, page.illustrated) == ((), "")
    assert page.markdown == f"{PROSE}\n\ny = # a\n\n{PROSE}"
    (page,) = convert(path, [1], survey | {"figures": True})
    assert page.illustrated == f"{PROSE}\n\ny = # a\n\n![Formula on page 1](files/page-0001-1.png)\n\n{PROSE}"
    ((left, top, right, bottom),) = page.figures
    assert left == pytest.approx(200, abs=2)
    assert right == pytest.approx(247, abs=4)
    assert 842 - y - 14 < top < bottom < 842 - y + 8
