"""Bullets are read whether they are characters, drawn, or characters without a name."""

from pathlib import Path

import pytest

from tests.apps.pdf.test_textlayer import converted
from tests.apps.pdf.writing import Sheet

ENTRIES = ("Ships: 1,204, more than in the last quarter", "Wait: 3.2 hours", "New crane at berth four")


def circle(x: float, y: float, radius: float, paint: str) -> str:
    """A circle of four curves."""
    near, far = 0.55 * radius, radius
    return (
        f"{x + far:g} {y:g} m {x + far:g} {y + near:g} {x + near:g} {y + far:g} {x:g} {y + far:g} c "
        f"{x - near:g} {y + far:g} {x - far:g} {y + near:g} {x - far:g} {y:g} c "
        f"{x - far:g} {y - near:g} {x - near:g} {y - far:g} {x:g} {y - far:g} c "
        f"{x + near:g} {y - far:g} {x + far:g} {y - near:g} {x + far:g} {y:g} c {paint}"
    )


@pytest.mark.parametrize("paint", ["f", "S", "square"])
def test_drawn_bullets_begin_entries_of_a_list(tmp_path: Path, paint: str) -> None:
    sheet = Sheet()
    sheet.paragraph("The harbour handled more ships than in any quarter before, and the wait was shorter.")
    for entry in ENTRIES:
        mark = f"72 {sheet.y + 2} 4 4 re f" if paint == "square" else circle(74, sheet.y + 4, 2, paint)
        sheet.operators.append(mark)
        sheet.lines([entry], 88)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown.endswith("\n".join(f"- {entry}" for entry in ENTRIES))


def test_circles_inside_a_line_and_around_a_chart_are_no_bullets(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph("The harbour handled more ships than in any quarter before, and the wait was shorter.")
    sheet.text(64, 600, "Press the key")
    sheet.operators.append(circle(148, 604, 2, "f"))
    sheet.text(156, 600, "twice.")
    sheet.operators.extend(circle(100 + 40 * number, 400 + 15 * number, 3, "f") for number in range(6))
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "- " not in page.markdown
    assert "•" not in page.markdown


def test_a_nameless_character_before_entries_is_a_bullet(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph("The harbour handled more ships than in any quarter before, and the wait was shorter.")
    for entry in ENTRIES:
        sheet.operators.append(f"BT /R 12 Tf 72 {sheet.y} Td (\\177) Tj ET")
        sheet.lines([entry], 88)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown.endswith("\n".join(f"- {entry}" for entry in ENTRIES))
