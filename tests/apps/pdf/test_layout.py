"""Pieces of text are put into lines, columns and blocks as a reader would."""

from fanfold.apps.pdf.heads.headings import Headings
from fanfold.apps.pdf.markdown import blocks, layout
from fanfold.apps.pdf.markdown.blocks import Block
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.markdown_writer import markdown
from fanfold.apps.pdf.markdown.pieces import Piece, Table
from fanfold.apps.pdf.tables import table_rows as tables

SIZE = 10.0
WIDTH = 5.0
"""The width of one character."""


def piece(text: str, x: float, y: float, size: float = SIZE, *, bold: bool = False, mono: bool = False) -> Piece:
    return Piece(text, x, y, x + len(text) * WIDTH * size / SIZE, y + size, size, bold, mono)


def stack(texts: list[str], x: float, y: float, leading: float = 12.0) -> list[Piece]:
    return [piece(text, x, y + index * leading) for index, text in enumerate(texts)]


def texts(columns: list[list[Line]]) -> list[str]:
    return [line.text for column in columns for line in column]


def grouped(*pieces: Piece) -> list[Block]:
    return blocks.group(layout.lines(pieces))


LEFT = [f"left {number} is a line that fills its column" for number in range(6)]
RIGHT = [f"right {number} is a line that fills its column" for number in range(6)]


def test_columns_are_read_one_after_the_other_even_if_their_lines_are_level() -> None:
    pieces = stack(LEFT, 50, 100) + stack(RIGHT, 300, 100)
    assert texts(layout.columns(pieces)) == LEFT + RIGHT


def test_columns_whose_lines_are_not_level_are_found_too() -> None:
    pieces = stack(LEFT, 50, 100) + stack(RIGHT, 300, 105.5, 11)
    assert texts(layout.columns(pieces)) == LEFT + RIGHT


def test_a_heading_across_both_columns_is_read_before_them() -> None:
    title = "A heading that is as wide as both of the columns below it together are"
    pieces = [*stack(LEFT, 50, 140), *stack(RIGHT, 300, 140), piece(title, 50, 100)]
    assert texts(layout.columns(pieces)) == [title, *LEFT, *RIGHT]


def test_the_last_line_of_a_headline_across_columns_stays_with_it() -> None:
    headline = [piece("A headline that is so long that it crosses", 50, 20, 18), piece("columns", 50, 40, 18)]
    sides = [*stack(LEFT, 50, 80), *stack(RIGHT, 350, 80)]
    assert texts(layout.columns([*headline, *sides]))[:2] == [one.text for one in headline]
    assert len(layout.columns([*headline, *sides])[0]) == 2


def test_a_short_headline_above_level_columns_divides_the_page() -> None:
    upper = [*stack(LEFT, 50, 40), *stack(RIGHT, 300, 40)]
    lower = [*stack(LEFT, 50, 160), *stack(RIGHT, 300, 160)]
    headline = piece("Sport", 50, 128, 18)
    assert texts(layout.columns([*upper, headline, *lower])) == [*LEFT, *RIGHT, "Sport", *LEFT, *RIGHT]
    # Beside a figure, which has no text, the columns below are not level.
    lower = [*stack(LEFT, 50, 160), *stack(RIGHT, 300, 172)]
    assert texts(layout.columns([*upper, headline, *lower])) == [*LEFT, "Sport", *LEFT, *RIGHT, *RIGHT]


def test_notes_in_the_margin_follow_the_paragraph_beside_them() -> None:
    prose = ["is about animals and the sentence goes on", "for a while, as sentences do in a text, until", "it ends."]
    first, second = stack(["The first part", *prose], 200, 50), stack(["The second part", *prose], 200, 110)
    notes = [piece("Foxes: nine", 50, 51, 7), piece("Birds: none", 50, 111, 7)]
    read = texts(layout.columns([*notes, *first, *second]))
    assert read == ["The first part", *prose, "Foxes: nine", "The second part", *prose, "Birds: none"]


def test_a_table_beside_text_does_not_mix_its_lines() -> None:
    table = Table([["a", "b"]], [(50, 80), (90, 120)], 50, 50, 120, 110)
    read = layout.lines([table, *stack(["one two three", "four five six", "seven eight nine"], 140, 60)])
    assert [line.text for line in read if line.table is None] == ["one two three", "four five six", "seven eight nine"]


def test_what_stands_below_both_columns_is_read_after_them() -> None:
    pieces = [*stack(LEFT, 50, 100), *stack(RIGHT, 300, 100), piece("The next article", 50, 220)]
    assert texts(layout.columns(pieces)) == [*LEFT, *RIGHT, "The next article"]


def test_rows_of_a_table_without_rules_are_not_taken_for_columns() -> None:
    names = ["Blood pressure", "Heart rate", "Temperature", "Oxygen"]
    values = ["142 mmHg", "78 bpm", "98.6 F", "97 %"]
    lines = texts(layout.columns(stack(names, 50, 100) + stack(values, 300, 100)))
    assert lines == [f"{name} {value}" for name, value in zip(names, values, strict=True)]


def test_an_initial_over_several_lines_does_not_tie_them_together() -> None:
    initial = Piece("O", 50, 100, 75, 124, 26, False, False)
    pieces = [
        initial,
        piece("nce upon a time", 78, 100),
        piece("there was a king", 78, 112),
        piece("of it all", 50, 124),
    ]
    assert texts(layout.columns(pieces)) == ["O nce upon a time", "there was a king", "of it all"]
    (block,) = grouped(*pieces)
    assert len(block.lines) == 3


def test_raised_characters_stay_in_their_line() -> None:
    assert texts([layout.lines([piece("market", 50, 100), piece("6", 80, 98, 6), piece("With", 90, 100)])]) == [
        "market6 With"
    ]


def test_an_indented_line_begins_a_paragraph() -> None:
    full = "a line that is as long as the others are in it."
    lines = [piece(full, x, 100 + 12 * row) for row, x in enumerate((62, 50, 50, 62, 50))]
    assert [len(block.lines) for block in grouped(*lines)] == [3, 2]


def test_lines_that_hang_in_belong_to_the_one_above() -> None:
    full = "a reference whose first line stands further out"
    lines = [piece(full, x, 100 + 12 * row) for row, x in enumerate((50, 62, 62, 50, 62))]
    assert [len(block.lines) for block in grouped(*lines)] == [3, 2]


def test_entries_of_a_list_are_told_apart_and_its_end_is_found() -> None:
    rows = [
        ("1. the first entry of the list, which needs", 50),
        ("two lines for what it has to say", 62),
        ("2. the second entry", 50),
        ("And here the text goes on as it did before.", 50),
    ]
    found = grouped(*(piece(text, x, 100 + 12 * row) for row, (text, x) in enumerate(rows)))
    assert [(block.kind, block.marker, len(block.lines)) for block in found] == [
        ("item", "1.", 2),
        ("item", "2.", 1),
        ("paragraph", "", 1),
    ]


def test_a_list_within_a_list_is_set_in() -> None:
    rows = [("• outer", 50), ("– inner", 70), ("– another", 70), ("• outer again", 50)]
    found = grouped(*(piece(text, x, 100 + 12 * row) for row, (text, x) in enumerate(rows)))
    assert markdown(found) == "- outer\n   - inner\n   - another\n- outer again"


def test_the_letter_o_is_a_bullet_below_a_bullet_and_a_word_at_the_edge() -> None:
    rows = [("• outer", 50), ("o inner", 70), ("o another", 70)]
    found = grouped(*(piece(text, x, 100 + 12 * row) for row, (text, x) in enumerate(rows)))
    assert markdown(found) == "- outer\n   - inner\n   - another"
    prose = ["o livro que foi lido por toda a gente da terra e", "o homem que o escreveu"]
    assert [block.kind for block in grouped(*stack(prose, 50, 100))] == ["paragraph"]


def test_a_year_at_the_beginning_of_a_line_makes_no_list() -> None:
    rows = [
        "it was the end of a long war that began in the year",
        "12. of that month, which was a very dark month indeed",
    ]
    assert [block.kind for block in grouped(*stack(rows, 50, 100))] == ["paragraph"]


def test_code_keeps_its_indentation_and_its_blank_lines() -> None:
    rows = [("def f(x):", 50, 100), ("return x", 70, 112), ("f(1)", 50, 136)]
    (block,) = grouped(*(piece(text, x, y, mono=True) for text, x, y in rows))
    assert markdown([block]) == "```\ndef f(x):\n    return x\n\nf(1)\n```"


def test_prose_in_typewriter_type_is_no_code() -> None:
    text = "a typed letter has lines that are all filled to the right edge"
    (block,) = grouped(*(piece(text, 50, 100 + 12 * row, mono=True) for row in range(5)))
    assert block.kind == "paragraph"


def test_a_word_in_typewriter_type_does_not_cut_its_paragraph() -> None:
    lines = [piece("LayoutParser", 50, 100, mono=True), piece("is a tool for", 115, 100), piece("pages.", 50, 112)]
    (block,) = grouped(*lines)
    assert markdown([block]) == "LayoutParser is a tool for pages."


def test_the_lines_of_one_cell_are_taken_into_the_table() -> None:
    first = Table([["1", "Indicator"]], [(50, 55), (100, 145)], 50, 100, 145, 110)
    second = Table([["2", "Code"]], [(50, 55), (100, 120)], 50, 126, 120, 136)
    lines = layout.lines([first, piece("of danger", 100, 113), second])
    (kept,) = tables.absorb(lines)
    assert kept.table is not None
    assert kept.table.rows == [["1", "Indicator"], ["", "of danger"], ["2", "Code"]]


def test_the_head_of_a_table_is_found_above_it() -> None:
    table = Table([["1", "Code"]], [(50, 75), (100, 145)], 50, 130, 145, 140)
    lines = layout.lines([piece("LINE", 50, 105, bold=True), piece("MEANING", 100, 105, bold=True), table])
    (kept,) = tables.absorb(lines)
    assert markdown(blocks.group([kept])) == "| LINE | MEANING |\n|---|---|\n| 1 | Code |"


def test_text_below_a_table_is_not_taken_into_it() -> None:
    table = Table([["1", "Code"], ["2", "Name"]], [(50, 75), (100, 145)], 50, 100, 145, 124)
    lines = layout.lines([table, piece("Here the text goes on.", 50, 130)])
    assert len(tables.absorb(lines)) == 2


def heading_levels(survey: dict[str, object], *found: Block) -> list[int]:
    return [block.level for block in Headings(survey).mark(found, page=3)]


def test_the_outline_decides_before_the_size_of_the_type() -> None:
    survey = {"body": 10.0, "ladder": [20.0], "outline": [["2.1 The Fold", 3, 2], ["Elsewhere", 4, 5]]}
    numbered = grouped(piece("2.1   The Fold", 50, 100, 20.0))
    unnumbered = grouped(piece("The fold", 50, 100))
    elsewhere = grouped(piece("Elsewhere", 50, 100))
    assert heading_levels(survey, *numbered, *unnumbered, *elsewhere) == [2, 2, 0]


def test_sizes_of_type_are_levels_and_bold_type_comes_below_them() -> None:
    survey = {"body": 10.0, "ladder": [20.0, 14.0]}
    found = [
        *grouped(piece("Title", 50, 50, 20.0)),
        *grouped(piece("Section", 50, 100, 14.0)),
        *grouped(piece("Bold", 50, 150, bold=True)),
        *grouped(piece("A sentence in bold type, which is not a title.", 50, 200, bold=True)),
        *grouped(piece("Plain", 50, 250)),
    ]
    assert heading_levels(survey, *found) == [1, 2, 3, 0, 0]


def test_a_heading_of_two_lines_is_one_heading() -> None:
    found = [*grouped(piece("A title that is too", 50, 50, 20.0)), *grouped(piece("long for its line", 50, 74, 20.0))]
    marked = Headings({"body": 10.0, "ladder": [20.0]}).mark(found, page=1)
    assert markdown(marked) == "# A title that is too long for its line"


def test_three_columns_under_a_headline_are_read_in_order_though_a_figure_crosses_two() -> None:
    columns = [[f"{name} {number} fills its column well" for number in range(9)] for name in ("one", "two", "three")]
    headline = piece("A headline over all three of the columns of this page, to the last word", 50, 60, 16)
    figure = piece("Figure 1: A caption that runs below two of the three columns, but not the third", 50, 176)
    pieces = [headline, figure]
    for column, x in zip(columns, (50, 260, 470), strict=True):
        # Lines are not level, and the first two columns leave room for the caption.
        pieces += stack(column[:6], x, 90 + x / 100) + stack(column[6:], x, 200 + x / 100)
        if x == 470:
            pieces += stack(["three goes on beside the caption"], x, 168)
    found = texts(layout.columns(pieces))
    assert found[0] == headline.text
    third = [text for text in found if text.startswith("three")]
    assert third == [*columns[2][:6], "three goes on beside the caption", *columns[2][6:]]
    assert (
        found.index(columns[0][5]) < found.index(columns[1][0]) < found.index(figure.text) < found.index(columns[0][6])
    )
    assert found.index(columns[0][8]) < found.index(columns[1][6])


def test_no_gutter_runs_between_the_words_of_a_title() -> None:
    title = [piece("Large words of a", 50, 60, 24), piece("title in two pieces", 300, 60, 24)]
    title[0].x1 = 290.0
    pieces = [*title, *stack(LEFT, 50, 120), *stack(RIGHT, 300, 121)]
    assert texts(layout.columns(pieces)) == ["Large words of a title in two pieces", *LEFT, *RIGHT]
