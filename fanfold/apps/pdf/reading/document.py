"""Opens a PDF, says what is wrong with a file that cannot be used, and renders pages."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fanfold as ff
from fanfold.apps.pdf.reading import fonts, ranges
from fanfold.apps.pdf.sentences import say_of_pdf
from fanfold.model.shortage import shortage

if TYPE_CHECKING:
    import pypdfium2 as pdfium
    from PIL import Image

# Other kinds of files that people submit as PDFs, by their first bytes.
_LOOKS_LIKE = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"II*\x00", "a TIFF picture"),
    (b"MM\x00*", "a TIFF picture"),
    (b"PK\x03\x04", "a ZIP archive (or a Word, Excel or EPUB file)"),
    (b"\xd0\xcf\x11\xe0", "an old Word or Excel file"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"AT&TFORM", "a DjVu document"),
)
# A PDF may start with junk bytes; readers look for its header within this range.
_HEADER_WITHIN = 1024
PREVIEW = 1600
_LOOKED_AT = 32 * 1024 * 1024
# pdfium reports a document without pages as it reports a broken one.
_COUNTS_NONE = re.compile(rb"/Count\s+0\b")
_PAGE = re.compile(rb"/Type\s*/Page\b")
# Blank pages are detected on a small copy: its size, the margin where scanners leave shadows, how much darker than
# paper ink is, and how many dark pixels must be close together (a single digit of a page number has about ten).
_SMALL = 500
_SHADOW = 0.03
_DARKER = 40
_NEIGHBOURS = 5


@dataclass(frozen=True)
class Examined:
    """A checked document: its page count, the selected pages and the survey of what they have in common."""

    total: int
    pages: list[int]
    survey: dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """One page as a gray JPEG."""

    jpeg: bytes
    width: int
    height: int
    blank: bool


def examine(
    path: Path, pages: str = "", *, limit_pages: int = 5000, name: str | None = None, surveyed: bool = True
) -> Examined:
    """Check a document and select its pages. Raises an error with the cause and the way out if it cannot be used.

    With ``surveyed=False`` no page is read, because one of them may crash or block the reader.
    """
    # Only child processes read pages, and the reading code takes time to import.
    from fanfold.apps.pdf.reading import survey

    with opened(path, name=name) as document:
        total = len(document)
        if total == 0:
            raise _no_pages(name or path.name)
        wanted = ranges.parse(pages, total)
        if len(wanted) > limit_pages:
            raise ff.Permanent(
                say_of_pdf("too_many_pages", file=name or path.name, pages=len(wanted), limit=limit_pages),
                code="too_many_pages",
            )
        unread = {"forms": bool(document.get_formtype())}
        return Examined(total, wanted, survey.take(path, document) if surveyed else unread)


def unlock(path: Path, password: str, target: Path, *, name: str | None = None) -> None:
    """Write a copy that needs no password; an unencrypted file is just copied."""
    import pypdfium2.raw as raw

    with opened(path, password=password, name=name) as document:
        if raw.FPDF_GetSecurityHandlerRevision(document) < 0:
            shutil.copyfile(path, target)
            return
        with target.open("wb") as file:
            document.save(file, flags=raw.FPDF_REMOVE_SECURITY)


def picture(path: Path, page: int, *, longest: int = 2000, quality: int = 80) -> Picture:
    """Render one page in gray, with its longest side capped in pixels, and report whether it is blank."""
    with opened(path) as document:
        image = _render(document, page, longest)
    jpeg = io.BytesIO()
    image.save(jpeg, "JPEG", quality=quality)
    return Picture(jpeg.getvalue(), image.width, image.height, _is_blank(image))


def preview(page: dict[str, Any]) -> bytes:
    """JPEG preview of an item's page, rendered from the document."""
    return picture(page["source"].path, page["page"], longest=PREVIEW).jpeg


@contextmanager
def opened(path: Path, *, password: str | None = None, name: str | None = None) -> Iterator[pdfium.PdfDocument]:
    """Open the document and close it at the end; raises the reason if it cannot be opened."""
    import pypdfium2 as pdfium

    fonts.install()
    try:
        document = pdfium.PdfDocument(path, password=password)
    except (pdfium.PdfiumError, OSError) as error:
        if shortage(error) is not None:
            raise  # The file may be fine: it is retried when the machine has resources again.
        raise _reason(error, path, password, name or path.name) from error
    try:
        yield document
    finally:
        document.close()


def _reason(error: Exception, path: Path, password: str | None, name: str) -> ff.Permanent:
    """Why pdfium rejected the file, as a message for the person who submitted it."""
    import pypdfium2.raw as raw

    if isinstance(error, OSError):
        return ff.Permanent(say_of_pdf("unreadable", file=name, why=error.strerror or str(error)), code="broken_pdf")
    if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
        if password:
            return ff.Permanent(say_of_pdf("wrong_password", file=name), code="wrong_password")
        return ff.Permanent(say_of_pdf("encrypted", file=name), code="encrypted")
    if getattr(error, "err_code", None) == raw.FPDF_ERR_SECURITY:
        return ff.Permanent(say_of_pdf("protected", file=name), code="protected")
    with path.open("rb") as file:
        content = file.read(_LOOKED_AT)
    head = content[:_HEADER_WITHIN]
    if not head:
        return ff.Permanent(say_of_pdf("empty_file", file=name), code="empty_file")
    if b"%PDF" not in head:
        return ff.Permanent(say_of_pdf("not_pdf", file=name, kind=looks_like(head)), code="not_pdf")
    if _COUNTS_NONE.search(content) and not _PAGE.search(content):
        return _no_pages(name)
    return ff.Permanent(say_of_pdf("damaged", file=name), code="broken_pdf")


def _no_pages(name: str) -> ff.Permanent:
    return ff.Permanent(say_of_pdf("no_pages", file=name), code="no_pages")


def looks_like(head: bytes) -> str:
    """What kind of file this is, judged by its first bytes."""
    for magic, kind in _LOOKS_LIKE:
        if head.startswith(magic):
            return kind
    start = head.lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head")):
        return "a web page (HTML)"
    if start.startswith(b"<?xml"):
        return "an XML file"
    printable = sum(byte >= 32 or byte in b"\t\r\n\f" for byte in head)
    return "a text file" if printable == len(head) else "another kind of file"


def _render(document: pdfium.PdfDocument, page: int, longest: int) -> Image.Image:
    import pypdfium2 as pdfium

    try:
        if document.get_formtype():
            document.init_forms()  # otherwise form field values are not rendered
        loaded = document[page - 1]
        # The cap is in pixels, for models and OCR; beyond 300 dpi a small page would only be enlarged.
        scale = min(longest / max(*loaded.get_size(), 1.0), 300 / 72)
        image: Image.Image = loaded.render(scale=scale, grayscale=True).to_pil().convert("L")
        loaded.close()
    except (pdfium.PdfiumError, ValueError) as error:
        raise ff.Permanent(say_of_pdf("page_not_drawn", page=page), code="broken_page") from error
    return image


def _is_blank(image: Image.Image) -> bool:
    """Whether the page shows nothing but paper; specks and shadows at the edge of a scan do not count as ink."""
    from PIL import ImageFilter

    small = image.reduce(max(1, round(max(image.size) / _SMALL)))
    across, down = round(small.width * _SHADOW), round(small.height * _SHADOW)
    inner = small.crop((across, down, small.width - across, small.height - down))
    histogram = inner.histogram()
    paper = max(range(256), key=histogram.__getitem__)
    ink = inner.point([255 if level < paper - _DARKER else 0 for level in range(256)])
    # The mean over 9 × 9 pixels is highest where dark pixels are close together.
    density = ink.filter(ImageFilter.BoxBlur(4)).histogram()
    return not any(density[round(_NEIGHBOURS * 255 / 81) :])
