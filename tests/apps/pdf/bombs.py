"""PDFs of a few kilobytes that are made to hang, crash or bloat their reader."""

import zlib
from collections.abc import Mapping

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
ONE_PAGE = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
HELLO = b"BT /F1 12 Tf 72 700 Td (A line of plain and harmless text.) Tj ET"


def written(objects: Mapping[int, bytes]) -> bytes:
    """A PDF of these objects."""
    out, places = b"%PDF-1.7\n", {}
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table, count = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % count
    for number in range(1, count):
        out += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
    return out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, table)


def stream(words: bytes, data: bytes) -> bytes:
    """A stream object."""
    return b"<< " + words + b" /Length %d >>\nstream\n" % len(data) + data + b"\nendstream"


def page(content: bytes = b"4 0 R", resources: bytes = b"/Font << /F1 5 0 R >>", box: bytes = b"0 0 612 792") -> bytes:
    """A page object."""
    return (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [" + box + b"] /Contents " + content + b" /Resources << "
        b"/ProcSet [/PDF] " + resources + b" >> >>"
    )  # fmt: skip


def plain(**changes: bytes) -> dict[int, bytes]:
    """The objects of a harmless document, with these replaced: `o6` is object 6."""
    known = {1: CATALOG, 2: ONE_PAGE, 3: page(), 4: stream(b"", HELLO), 5: FONT}
    return known | {int(name[1:]): body for name, body in changes.items()}


def forms(last: bytes, depth: int = 9) -> dict[int, bytes]:
    """Forms from 10 on that each draw the next one ten times; the last one draws this."""
    kind = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] "
    made = {
        10 + level: stream(kind + b"/Resources << /XObject << /X %d 0 R >> >>" % (11 + level), b"/X Do " * 10)
        for level in range(depth)
    }
    return made | {10 + depth: stream(kind + b"/Resources << /XObject << /X 10 0 R >> /Font << /F1 5 0 R >> >>", last)}


def bloating_page() -> dict[int, bytes]:
    """Objects for a page that takes more and more memory: its forms draw each other without end."""
    return {7: page(b"8 0 R", b"/XObject << /X 10 0 R >>"), 8: stream(b"", b"/X Do"), **forms(b"/X Do")}


def one_bad_page_of_three() -> bytes:
    """A document whose second page is a bomb."""
    pages = b"<< /Type /Pages /Kids [3 0 R 7 0 R 9 0 R] /Count 3 >>"
    return written(plain(o2=pages, o9=page()) | bloating_page())


def double_flate(size: int) -> bytes:
    """Spaces, compressed twice: about a millionth of their size."""
    packer, chunk = zlib.compressobj(9), b" " * 1_000_000
    once = b"".join([*(packer.compress(chunk) for _ in range(size // len(chunk))), packer.flush()])
    return written(plain(o4=stream(b"/Filter [/FlateDecode /FlateDecode]", zlib.compress(once, 9))))


def bombs() -> dict[str, bytes]:
    """Every bomb by its name."""
    tree = {
        10 + level: b"<< /Type /Pages /Parent 2 0 R /Kids [" + (b"%d 0 R " % (11 + level)) * 10 + b"] /Count 9999 >>"
        for level in range(8)
    }
    loop = b"<< /Title (a) /Parent 6 0 R /First 7 0 R /Next 7 0 R /Dest [3 0 R /Fit] >>"
    entities = b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    xfa = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">' + entities + b"]><xdp>&j;</xdp>"
    image = b"/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceRGB /BitsPerComponent 8"
    glyph = b"/FontBBox [0 0 9 9] /FontMatrix [0.1 0 0 0.1 0 0] /CharProcs << /a 6 0 R >> /FirstChar 97 /LastChar 97"
    return {
        "page tree that holds itself": written(plain(o2=b"<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000 >>")),
        "page count that lies": written(plain(o2=b"<< /Type /Pages /Kids [3 0 R] /Count 2000000000 >>")),
        "page tree of a billion": written(
            plain(o2=b"<< /Type /Pages /Kids [" + b"10 0 R " * 10 + b"] /Count 1000000000 >>", o18=page()) | tree
        ),
        "forms that draw forms": written(
            plain(o3=page(resources=b"/XObject << /X 10 0 R >>"), o4=stream(b"", b"/X Do")) | forms(HELLO)
        ),
        "double compression": double_flate(500_000_000),
        "deep arrays": written(plain(o4=stream(b"", b"[" * 500_000))),
        "huge page": written(plain(o3=page(box=b"0 0 2000000000 2000000000"))),
        "huge image": written(
            plain(
                o3=page(resources=b"/XObject << /I 6 0 R >>"),
                o4=stream(b"", b"q 612 0 0 792 0 0 cm /I Do Q"),
                o6=stream(image + b" /Filter /FlateDecode", zlib.compress(b"x")),
            )
        ),
        "outline that holds itself": written(
            plain(
                o1=b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>",
                o6=b"<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 1 >>",
                o7=loop,
            )
        ),
        "font that draws itself": written(
            plain(
                o5=b"<< /Type /Font /Subtype /Type3 "
                + glyph
                + b" /Encoding << /Type /Encoding /Differences [97 /a] >> "
                b"/Widths [9] /Resources << /Font << /F1 5 0 R >> >> >>",
                o4=stream(b"", b"BT /F1 9 Tf 10 10 Td (aaaa) Tj ET"),
                o6=stream(b"", b"BT /F1 9 Tf (aaaaaaaaaa) Tj ET " * 10),
            )
        ),
        "XFA of a billion words": written(
            plain(o1=b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [] /XFA 6 0 R >> >>", o6=stream(b"", xfa))
        ),
        "length that is itself": written(plain(o4=b"<< /Length 4 0 R >>\nstream\nBT ET\nendstream")),
    }
