"""Writes PDFs without a library: sheets of text, tables and images, as PDF operators."""

import io
import textwrap
import zlib
from dataclasses import dataclass, field

from PIL import Image

WIDTH, HEIGHT = 595, 842
LEFT, TOP = 64, 768
FONTS = {"R": "Helvetica", "B": "Helvetica-Bold", "T": "Times-Roman", "I": "Times-Italic", "M": "Courier"}
SIZES = {1: 26.0, 2: 19.0, 3: 15.0}
BODY, LEADING = 12.0, 17.0
SCRIPTS = [*map(chr, range(0x5D0, 0x5EB)), *map(chr, range(0x621, 0x64B)), "لا"]
"""Hebrew and Arabic letters and a glyph for two of them: font "Q" has them after the codes of ASCII, all half as wide as high."""


@dataclass
class Sheet:
    """A page in the making: what is drawn on it, and how far down it is filled."""

    operators: list[str] = field(default_factory=list)
    headings: list[tuple[int, str, float]] = field(default_factory=list)
    y: float = TOP
    picture: bytes | None = None
    """A gray JPEG that fills the page."""
    width: float = WIDTH
    height: float = HEIGHT
    links: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    """Left, bottom, right, top and address of each link."""

    def text(self, x: float, y: float, text: str, font: str = "R", size: float = BODY) -> None:
        """One line at one place."""
        self.operators.append(f"BT /{font} {size:g} Tf {x:g} {y:g} Td {shown(text, font)} Tj ET")

    def lines(
        self, lines: list[str], x: float = LEFT, font: str = "R", size: float = BODY, lead: float = LEADING
    ) -> None:
        """Lines one under the other, from where the sheet is filled to."""
        for line in lines:
            self.text(x, self.y, line, font, size)
            self.y -= lead

    def heading(self, level: int, text: str, font: str = "B") -> None:
        """A heading with its space, which also becomes a bookmark."""
        self.y -= SIZES[level] * 0.9 if self.y < TOP else 0
        self.headings.append((level, text, self.y + SIZES[level]))
        self.text(LEFT, self.y, text, font, SIZES[level])
        self.y -= SIZES[level] + 8

    def paragraph(self, text: str, characters: int = 80, x: float = LEFT, font: str = "R") -> None:
        """Prose, broken into lines of this many characters."""
        self.lines(textwrap.wrap(" ".join(text.split()), characters, break_on_hyphens=False), x, font)
        self.y -= 18

    def listing(self, marks: list[str], items: tuple[str, ...]) -> None:
        """A list, each item behind its mark."""
        for mark, item in zip(marks, items, strict=True):
            self.text(LEFT + 12, self.y, mark)
            self.lines([item], LEFT + 30)
        self.y -= 18

    def table(self, rows: tuple[tuple[str, ...], ...], widths: tuple[int, ...], height: float = 22) -> None:
        """A table with a line around each cell; its first row is the header."""
        top, edges = self.y + 13, [LEFT + sum(widths[:column]) for column in range(len(widths))]
        for number, row in enumerate(rows):
            for x, width, cell in zip(edges, widths, row, strict=True):
                self.text(x + 6, top - height * (number + 1) + 7, cell, "R" if number else "B", 11)
                self.operators.append(f"0.6 w {x} {top - height * (number + 1):g} {width} {height:g} re S")
        self.y = top - height * len(rows) - 24

    def frame(self, header: str, number: int) -> None:
        """The running header and the number of the page."""
        self.operators.append("0.4 g")
        self.text(LEFT, 806, header, size=8.5)
        self.text(WIDTH / 2 - 3, 36, str(number), size=8.5)
        self.operators.append("0 g")

    def stream(self) -> bytes:
        """What is drawn, in PDF's words."""
        return "\n".join(self.operators).encode("latin-1")


def shown(text: str, font: str) -> str:
    """A string for the operator that shows it: UTF-16 in hex for Chinese, an escaped literal for the rest."""
    if font == "Q":
        return f"<{bytes(128 + SCRIPTS.index(sign) if sign in SCRIPTS else ord(sign) for sign in signs(text)).hex()}>"
    if font == "C":
        return f"<{text.encode('utf-16-be').hex()}>"
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"({escaped.encode('cp1252').decode('latin-1')})"


def signs(text: str) -> list[str]:
    """The glyphs of a text as it is drawn, from left to right: lam and alef are one."""
    return [sign if sign != "\ufefb" else "لا" for sign in text]


class Pdf:
    """The objects of a file, each a dictionary and perhaps a stream; their numbers are their places."""

    def __init__(self, sheets: list[Sheet]) -> None:
        self.objects: list[tuple[str, bytes | None]] = []
        catalog, pages, outline = self.add(""), self.add(""), self.add("")
        self.trailer = f"/Root {catalog} 0 R"
        known = {**latin_fonts(), "C": self.song()}
        if any("/Q " in operator for sheet in sheets for operator in sheet.operators):
            known["Q"] = self.scripts()
        fonts = " ".join(f"/{name} {self.add(font)} 0 R" for name, font in known.items())
        kids = [self.page(sheet, pages, fonts) for sheet in sheets]
        self.put(pages, f"/Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}]")
        self.put(catalog, f"/Type /Catalog /Pages {pages} 0 R /Outlines {outline} 0 R /Lang (en)")
        bookmarks = [(kid, *heading) for kid, sheet in zip(kids, sheets, strict=True) for heading in sheet.headings]
        self.bookmarks(outline, bookmarks)

    def add(self, dictionary: str, stream: bytes | None = None) -> int:
        """A new object. Returns its number."""
        self.objects.append((dictionary, stream))
        return len(self.objects)

    def put(self, number: int, dictionary: str) -> None:
        """Fill an object whose number had to be known before its contents."""
        self.objects[number - 1] = (dictionary, None)

    def song(self) -> str:
        """A Chinese font that every reader knows by name and the file need not carry."""
        flags = (
            "/Flags 6 /FontBBox [-25 -254 1000 880] /ItalicAngle 0 /Ascent 880 /Descent -120 /CapHeight 880 /StemV 93"
        )
        descriptor = self.add(f"/Type /FontDescriptor /FontName /STSong-Light {flags}")
        system = "/CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> /DW 1000"
        base = "/Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light"
        glyphs = self.add(f"{base} {system} /FontDescriptor {descriptor} 0 R")
        name = "/BaseFont /STSong-Light-UniGB-UTF16-H /Encoding /UniGB-UTF16-H"
        return f"/Type /Font /Subtype /Type0 {name} /DescendantFonts [{glyphs} 0 R]"

    def scripts(self) -> str:
        """A font with Hebrew and Arabic letters, which has no shapes for them but says which they are."""
        codes = {code: chr(code) for code in range(32, 127)} | {128 + at: sign for at, sign in enumerate(SCRIPTS)}
        lines = [f"<{code:02x}> <{sign.encode('utf-16-be').hex()}>" for code, sign in codes.items()]
        blocks = [lines[at : at + 100] for at in range(0, len(lines), 100)]
        mapped = "\n".join(f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar" for block in blocks)
        space = "1 begincodespacerange\n<00> <ff>\nendcodespacerange"
        stream = f"/CIDInit /ProcSet findresource begin begincmap\n{space}\n{mapped}\nendcmap end"
        mapping = self.add("", stream.encode())
        widths = "/FirstChar 0 /LastChar 255 /Widths [" + " ".join(["500"] * 256) + "]"
        return f"/Type /Font /Subtype /Type1 /BaseFont /Helvetica {widths} /ToUnicode {mapping} 0 R"

    def page(self, sheet: Sheet, parent: int, fonts: str) -> int:
        """A page with what is drawn on it."""
        resources, drawing = f"/Font << {fonts} >>", sheet.stream()
        if sheet.picture is not None:
            width, height = Image.open(io.BytesIO(sheet.picture)).size
            kind = f"/Type /XObject /Subtype /Image /Width {width} /Height {height}"
            picture = self.add(f"{kind} /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode", sheet.picture)
            resources = f"/XObject << /P {picture} 0 R >>"
            drawing = f"q {sheet.width:g} 0 0 {sheet.height:g} 0 0 cm /P Do Q".encode()
        contents = self.add("/Filter /FlateDecode", zlib.compress(drawing, 9))
        place = f"/Parent {parent} 0 R /MediaBox [0 0 {sheet.width:g} {sheet.height:g}]"
        notes = " ".join(
            f"<< /Type /Annot /Subtype /Link /Rect [{box[0]:g} {box[1]:g} {box[2]:g} {box[3]:g}] "
            f"/A << /S /URI /URI ({address}) >> >>"
            for *box, address in sheet.links
        )
        own = f"/Resources << {resources} >> /Contents {contents} 0 R /Annots [{notes}]"
        return self.add(f"/Type /Page {place} {own}")

    def bookmarks(self, root: int, entries: list[tuple[int, int, str, float]]) -> None:
        """The outline: each entry hangs below the last one of a higher level."""
        parents, above = {}, [(0, root)]
        for _, level, _, _ in entries:
            number = self.add("")
            above = [entry for entry in above if entry[0] < level]
            parents[number] = above[-1][1]
            above.append((level, number))
        children = {
            above: [number for number, parent in parents.items() if parent == above] for above in (root, *parents)
        }
        self.put(root, f"/Type /Outlines {family(children[root])}")
        for number, (page, _, title, y) in zip(parents, entries, strict=True):
            siblings = children[parents[number]]
            at = siblings.index(number)
            links = [f"/Prev {siblings[at - 1]} 0 R"] * (at > 0) + [f"/Next {n} 0 R" for n in siblings[at + 1 : at + 2]]
            where = f"/Parent {parents[number]} 0 R /Dest [{page} 0 R /XYZ 0 {y:g} 0] {family(children[number])}"
            self.put(number, f"/Title <feff{title.encode('utf-16-be').hex()}> {where} {' '.join(links)}")

    def written(self) -> bytes:
        """The bytes of the file."""
        file, offsets = io.BytesIO(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
        file.seek(0, io.SEEK_END)
        for number, (dictionary, stream) in enumerate(self.objects, 1):
            offsets.append(file.tell())
            length = "" if stream is None else f" /Length {len(stream)}"
            body = b"" if stream is None else b"stream\n" + stream + b"\nendstream\n"
            file.write(f"{number} 0 obj\n<< {dictionary}{length} >>\n".encode() + body + b"endobj\n")
        start, size = file.tell(), len(offsets) + 1
        table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
        file.write(f"xref\n0 {size}\n0000000000 65535 f \n{table}".encode())
        file.write(f"trailer\n<< /Size {size} {self.trailer} >>\nstartxref\n{start}\n%%EOF\n".encode())
        return file.getvalue()


def latin_fonts() -> dict[str, str]:
    """The fonts every reader brings along."""
    kind = "/Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding /BaseFont"
    return {name: f"{kind} /{font}" for name, font in FONTS.items()}


def family(children: list[int]) -> str:
    """The links of a bookmark to those below it."""
    return f"/First {children[0]} 0 R /Last {children[-1]} 0 R /Count {len(children)}" if children else ""
