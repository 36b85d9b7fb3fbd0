"""Makes the sample PDF that comes with Fanfold: `python -m tests.apps.pdf.sample_document fanfold/apps/pdf/sample.pdf`."""

import argparse
import io
import random
import textwrap
from pathlib import Path

import pypdfium2
from PIL import Image, ImageFilter

from tests.apps.pdf.writing import LEFT, Pdf, Sheet

TITLE = "Fanfold paper and long work"
RUNNING_HEADER = "A sample for fanfold convert"

OPENING = """Fanfold paper is one very long sheet that pretends to be many short ones. It comes out of its box folded in
zigzag, one page on top of the next, with a line of tiny holes where each page may be torn from its neighbour. A printer
pulls it through by the holes along its edges, line after line, for as long as there is paper in the box."""

EDGE = """The strips with the round holes are there for the machine alone. A pair of tractor wheels grips them, so the
sheet can neither slip nor turn, and page nine hundred begins exactly as far down as page one. When the work is done the
strips are torn off and nobody thinks of them again. Good machinery is like that: it holds on to the work and leaves no
mark on the result."""

JAM = """Sooner or later the paper jams. Whoever has stood beside such a printer knows what happens next: open the lid,
free the crumpled sheet, look at the last page that came out whole, and start again from there. Nobody would dream of
printing the whole stack once more."""

HABITS = (
    "Every page is small enough to be done again without regret.",
    "A finished page is put on the pile at once, not when all are finished.",
    "The pile itself says how far the work has come; no one has to remember it.",
    "One spoiled page is marked and set aside, and the others go on.",
)

OVER_THE_BREAK = """What makes this possible is neither the printer nor the paper but the fold between two pages. It is
a promise made before the work begins: here, and only here, may you stop. Between two folds there is nothing to decide,
and at each fold everything is already decided. A long piece of work that has no such folds must be done in one breath.
One that has them can be done in a night, or in a hundred nights by a hundred different people, because it has been perfo-"""

AFTER_THE_BREAK = """rated beforehand. The person who put the holes into the paper never saw the text that was to be
printed on it, and did not need to."""

MEASURES = """How long is long? The following table takes a few common kinds of work and counts them in folds. None of
the single steps is slow. It is their number that makes a power cut in the middle worth a thought."""

TABLE = (
    ("Work", "Items", "Seconds each", "In one breath"),
    ("Book, page by page", "600", "4", "40 min"),
    ("Novel, chapter by chapter", "96", "30", "48 min"),
    ("Recorded interviews", "40", "90", "1 h"),
    ("Invoices of a year", "3650", "2", "2 h 2 min"),
    ("Photographs of a museum", "25000", "1", "6 h 57 min"),
    ("Letters of an archive", "12000", "4", "13 h 20 min"),
)

STEPS = (
    "Split the work along its folds.",
    "Do one part after the other, or several at once.",
    "Put every finished part where it cannot be lost.",
    "Join the parts in their order and tear off the edges.",
)

CODE = """for page in stack:
    if page.is_printed:
        continue
    page.print()
    pile.put(page)
bind(pile)"""

LEFT_COLUMN = (
    """There are two ways to read a stack of fanfold paper. One is to lift it page by page, as one reads a book. The
    other is to take hold of the first page and let the rest fall, so that the whole text hangs from the hand like a
    ribbon.""",
    """Programmers used to read their listings in this second way, on the floor of a corridor, walking along the text on
    their knees with a pencil. A mistake on page three could be seen together with its consequence on page eleven. What
    the screen has given us in comfort it has taken from us in length.""",
    """The green bars that were printed across such paper had a plain purpose. They led the eye from a name on the left
    to a number on the far right without losing the line.""",
)
RIGHT_COLUMN = (
    """A text in two columns asks for the same kind of help. Its reader goes down the left column to the very end, and
    only then up again to the top of the right one. People do so without thinking. A machine that reads straight across
    the page makes a salad of both.""",
    """The gap between the columns is therefore not empty. It is a fold that runs from top to bottom: it says that what
    stands side by side does not belong together.""",
    """Whoever converts such a page has to find that fold first. If the conversion is right, this sentence comes after
    everything on the left, and it is the last one of the page.""",
)

SCANNED = (
    "Sunday evening",
    "",
    "Dear colleague,",
    "",
    "the printer in the cellar stopped at ten past four, in the",
    "middle of the third box. I have torn off what was finished",
    "and put it on your desk. It is 214 pages, all of them good.",
    "",
    "Page 215 has a crease, so I have taken it out. Please print",
    "that one again and lay it where it belongs. Everything after",
    "it can simply go on.",
    "",
    "There was no need to stay with the machine all night. It",
    "knows where it is.",
    "",
    "Yours, from the night shift",
)

CHINESE_HEADING = "连续纸与漫长的工作"
CHINESE = (
    "连续纸是一张很长的纸，它装作许多张短纸的样子。纸从箱子里出来的时候一页叠着一页，页与页之间有一排细小的孔，"
    "可以沿着这排孔把它们撕开。打印机靠两边的圆孔牵着纸走，一行接着一行，直到箱子空了为止。",
    "纸总有卡住的时候。站在旁边的人会打开盖子，取出皱了的那一页，看看最后一张完整的是第几页，然后从那里继续。"
    "没有人会把整箱纸重新打印一遍。",
    "漫长的工作也应当这样：先沿着折痕把它分开，再一份一份地完成，做好的放在不会丢失的地方，最后按照顺序合在一起。"
    "中途停电并不可怕，因为每一道折痕都记得自己的位置。",
)


def first_page() -> Sheet:
    """Title, headings of two levels, paragraphs and a list; its last sentence goes on overleaf."""
    sheet = Sheet()
    sheet.heading(1, TITLE)
    sheet.paragraph(OPENING)
    sheet.heading(2, "A sheet that pretends to be many")
    sheet.heading(3, "The edge")
    sheet.paragraph(EDGE)
    sheet.heading(3, "The jam")
    sheet.paragraph(JAM)
    sheet.paragraph("Four habits are worth keeping from those days:")
    sheet.listing(["•"] * len(HABITS), HABITS)
    sheet.heading(3, "The fold")
    sheet.paragraph(OVER_THE_BREAK)
    return sheet


def second_page() -> Sheet:
    """The end of that sentence, a table, a numbered list and code."""
    sheet = Sheet()
    sheet.paragraph(AFTER_THE_BREAK)
    sheet.heading(2, "Work counted in folds")
    sheet.paragraph(MEASURES)
    sheet.table(TABLE, (172, 70, 104, 121))
    sheet.heading(3, "The same thing, step by step")
    sheet.listing([f"{number}." for number in range(1, len(STEPS) + 1)], STEPS)
    sheet.heading(3, "The same thing, as a program")
    sheet.lines(CODE.splitlines(), LEFT + 12, "M", 11, 15)
    return sheet


def two_columns() -> Sheet:
    """Prose in two columns below one heading."""
    sheet = Sheet()
    sheet.heading(2, "Reading along the fold")
    top = sheet.y
    for x, column in ((LEFT, LEFT_COLUMN), (308, RIGHT_COLUMN)):
        sheet.y = top
        for paragraph in column:
            sheet.paragraph(paragraph, 38, x)
    return sheet


def chinese_page() -> Sheet:
    """A heading and paragraphs in Chinese, whose lines break between any two characters."""
    sheet = Sheet()
    sheet.heading(2, CHINESE_HEADING, "C")
    for paragraph in CHINESE:
        sheet.lines(textwrap.wrap(paragraph, 38), font="C", lead=20)
        sheet.y -= 14
    return sheet


def scanned_page() -> bytes:
    """A typed letter as a scanner sees it: gray, askew and grainy. A gray JPEG."""
    letter = Sheet(y=690)
    letter.lines(list(SCANNED), 80, "T", 15, 24)
    document = pypdfium2.PdfDocument(Pdf([letter]).written())
    picture = document[0].render(scale=1.9, grayscale=True).to_pil().convert("L")
    document.close()
    picture = picture.point(lambda value: 38 + value * 184 // 255)
    picture = picture.rotate(1.3, Image.Resampling.BICUBIC, fillcolor=205).filter(ImageFilter.GaussianBlur(0.6))
    grain = Image.frombytes("L", picture.size, random.Random(1403).randbytes(picture.width * picture.height))
    file = io.BytesIO()
    Image.blend(picture, grain, 0.05).save(file, "JPEG", quality=45)
    return file.getvalue()


def write_sample(path: Path) -> None:
    """Write the sample to ``path``."""
    sheets = [first_page(), second_page(), two_columns(), Sheet(picture=scanned_page()), chinese_page(), Sheet()]
    for number, sheet in enumerate(sheets, 1):
        if sheet.operators:
            sheet.frame(RUNNING_HEADER, number)
    path.write_bytes(Pdf(sheets).written())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the sample PDF that comes with Fanfold.")
    parser.add_argument("path", type=Path)
    write_sample(parser.parse_args().path)
