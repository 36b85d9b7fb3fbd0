"""Reads an office document, an e-book or a web page as parts: a document, a slide, a sheet or a chapter each."""

from __future__ import annotations

import posixpath
import zipfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import fanfold as ff
from fanfold.apps.pdf.inputs import office_markdown
from fanfold.apps.pdf.inputs.html_markdown import decoded, html_markdown
from fanfold.apps.pdf.reading import ranges
from fanfold.apps.pdf.sentences import say_of_pdf

MOST_TEXT = 64 * 1024 * 1024
_XML = (".opf", ".xml")


@dataclass(frozen=True)
class Parts:
    """A document as parts, numbered from 1 like pages."""

    total: int
    pages: list[int]
    """The numbers of the chosen parts."""
    markdown: dict[int, str]
    facts: dict[str, str]
    """What the document says about itself: its title and author."""


def read_parts(path: Path, kind: str, pages: str = "", *, name: str, limit_pages: int = 5000) -> Parts:
    """Read a document. Raises Permanent with the cause and the remedy. Call it in a child process."""
    if kind == "html":
        found, facts = _web_page(path, name)
    elif kind == "epub":
        found, facts = _book(path, name)
    else:
        found, facts = office_markdown.office_parts(path, kind, name)
    if not any(part.strip() for part in found):
        raise ff.Permanent(say_of_pdf("no_text", file=name), code="no_text")
    wanted = ranges.parse(pages, len(found))
    if len(wanted) > limit_pages:
        raise ff.Permanent(
            say_of_pdf("too_many_pages", file=name, pages=len(wanted), limit=limit_pages), code="too_many_pages"
        )
    return Parts(len(found), wanted, {number: found[number - 1] for number in wanted}, facts)


def _web_page(path: Path, name: str) -> tuple[list[str], dict[str, str]]:
    if path.stat().st_size > MOST_TEXT:
        limit = MOST_TEXT // 1024**2
        raise ff.Permanent(say_of_pdf("document_too_large", file=name, limit=limit), code="too_large")
    text, title = html_markdown(decoded(path.read_bytes()))
    return [text], {"title": title}


def _book(path: Path, name: str) -> tuple[list[str], dict[str, str]]:
    """The chapters of an EPUB in reading order; those without text are left out."""
    office_markdown.check_size(path, name)
    try:
        with zipfile.ZipFile(path) as archive:
            package = _package(archive)
            root = _parsed(archive.read(package))
            chapters = [archive.read(member) for member in _spine(root, package, set(archive.namelist()))]
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, OSError, ValueError, NotImplementedError) as error:
        raise ff.Permanent(say_of_pdf("document_damaged", file=name), code="broken_document") from error
    found = [html_markdown(decoded(chapter))[0] for chapter in chapters]
    facts = {"title": _told(root, "title"), "author": _told(root, "creator")}
    return [part for part in found if part.strip()], facts


def _package(archive: zipfile.ZipFile) -> str:
    container = _parsed(archive.read("META-INF/container.xml"))
    found = next(one for one in container.iter() if one.tag.endswith("}rootfile"))
    return unquote(found.attrib["full-path"])


def _spine(root: ElementTree.Element, package: str, members: set[str]) -> list[str]:
    home = posixpath.dirname(package)
    known = {one.attrib.get("id"): one.attrib.get("href", "") for one in root.iter() if one.tag.endswith("}item")}
    order = [one.attrib.get("idref") for one in root.iter() if one.tag.endswith("}itemref")]
    places = (posixpath.normpath(posixpath.join(home, unquote(known[one]))) for one in order if one in known)
    return [place for place in places if place in members]


def _told(root: ElementTree.Element, name: str) -> str:
    found = next((one.text for one in root.iter() if one.tag.endswith("}" + name) and one.text), "")
    return " ".join((found or "").split())


def _parsed(content: bytes) -> ElementTree.Element:
    if b"<!ENTITY" in content:
        raise ValueError("an XML file of a book must not define entities")
    return ElementTree.fromstring(content)
