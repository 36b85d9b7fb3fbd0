"""Tells what kind of file an input is, by its content first: names are often wrong."""

from __future__ import annotations

import zipfile
from pathlib import Path

import fanfold as ff
from fanfold.apps.pdf.reading.document import looks_like
from fanfold.apps.pdf.sentences import say_of_pdf

PDF, PICTURE = "pdf", "picture"
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
DOCUMENTS = (".docx", ".pptx", ".xlsx", ".epub", ".html", ".htm", ".xhtml")
TAKEN = (".pdf", *PICTURES, *DOCUMENTS)
"""Endings of files that can be converted."""
SEARCHED = (".pdf", ".docx", ".pptx", ".xlsx", ".epub")
"""Endings of files that are taken from a folder. Pictures and web pages there often belong to something else."""
_HEAD = 4096
_PDF_WITHIN = 1024
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
_MEMBERS = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "xlsx"}
_EPUB = "META-INF/container.xml"


def kind_of(path: Path, name: str) -> str:
    """`pdf`, `picture`, `docx`, `pptx`, `xlsx`, `epub` or `html`. An unknown file counts as a PDF: that reader explains it."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if b"%PDF" in head[:_PDF_WITHIN] or not head:
        return PDF
    if head.startswith(_PICTURES) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP"):
        return PICTURE
    if head.startswith(b"PK\x03\x04"):
        return _archived(path, name)
    ending = Path(name).suffix.lower()
    named = ending in (".html", ".htm", ".xhtml")
    # A web page with the name of a PDF is usually an error page of a failed download.
    found = looks_like(head) == "a web page (HTML)" and ending != ".pdf"
    return "html" if found or (named and b"\0" not in head) else PDF


def _archived(path: Path, name: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            members = set(archive.namelist())
    except (zipfile.BadZipFile, OSError) as error:
        if Path(name).suffix.lower() in DOCUMENTS:
            raise ff.Permanent(say_of_pdf("document_damaged", file=name), code="broken_document") from error
        return PDF
    found = next((kind for member, kind in _MEMBERS.items() if member in members), None)
    return found or ("epub" if _EPUB in members else PDF)
