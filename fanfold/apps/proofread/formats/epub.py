"""Reads and writes EPUB: the text of its documents, the table of contents, titles and alternative texts of pictures."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

import fanfold as ff
from fanfold.apps.proofread.formats.archive import opened, read_member, rewrite
from fanfold.apps.proofread.formats.book import Block, BlockKind, Book, Brackets, Marker, MarkerKind, Place
from fanfold.apps.proofread.formats.languages import language_told, with_language
from fanfold.apps.proofread.formats.markup import (
    TokenKind,
    attributes,
    decode_markup,
    escape_value,
    partners,
    tokens_of,
)
from fanfold.apps.proofread.formats.segments import Markup, Piece, PieceKind, patched, rebuild
from fanfold.apps.proofread.formats.source import Source
from fanfold.apps.proofread.formats.xhtml import WRITER, Found, read_page, trimmed
from fanfold.apps.proofread.formats.xhtml_text import shown_text
from fanfold.apps.proofread.markers import free_brackets
from fanfold.apps.proofread.sentences import say_of_proofread

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
DOCUMENTS = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
DRAWING = "image/svg+xml"
PAGES = (".xhtml", ".html", ".htm")
NCX = "application/x-dtbncx+xml"
_TITLES = ("title", "description", "text", "docTitle")


@dataclass(frozen=True)
class Member:
    """A member with text: its source and its blocks."""

    name: str
    source: str
    encoding: str
    errors: str
    found: tuple[Found, ...]
    kept: tuple[str, ...] = ()
    """Passages of code, which are not sent."""
    is_package: bool = False


def read_epub(source: Source, *, ruby_is_text: bool = False) -> Book:
    """Read an EPUB."""
    with opened(source) as archive:
        members = list(_members(archive, source, ruby_is_text))
    brackets = free_brackets("".join(member.source for member in members))
    blocks: list[Block] = []
    for member in members:
        for found in member.found:
            blocks.append(make_block(str(len(blocks) + 1), member.name, member.source, found, brackets))
    kept = [passage for member in members for passage in member.kept]
    notes = (say_of_proofread("code_kept", file=source.name, count=len(kept), first=kept[0][:60]),) if kept else ()
    return Book(
        "epub",
        source.path,
        source.digest,
        tuple(blocks),
        brackets=brackets,
        notes=notes,
        ruby_is_text=ruby_is_text,
    )


def write_epub(book: Book, source: Source, changed: Mapping[str, str], language: str | None = None) -> bytes:
    """The EPUB with changed blocks; if a language is given, it is stated in the metadata and in the changed pages."""
    with opened(source) as archive:
        members = list(_members(archive, source, book.ruby_is_text))
    told = language_told(member.source for member in members)
    numbers = iter(range(1, len(book.blocks) + 1))
    result: dict[str, bytes] = {}
    for member in members:
        own = {str(next(numbers)): found for found in member.found}
        text = patch_member(member.source, own, changed, book.brackets)
        if language and (member.is_package or text != member.source):
            text = with_language(text, told, language, is_package=member.is_package)
        if text != member.source:
            result[member.name] = encode_member(text, member)
    return rewrite(source, result)


def make_block(name: str, member: str, source: str, found: Found, brackets: Brackets) -> Block:
    """A block from its pieces, or from the value of an attribute."""
    place = Place(found.start, found.end, member)
    if not found.pieces:
        return Block(name, shown_text(source[found.start : found.end]), place, kind=found.kind)
    text, markers = shown_with_markers(source, found.pieces, brackets, shown_text)
    return Block(name, text, place, markers, found.kind)


def shown_with_markers(
    source: str, pieces: Iterable[Piece], brackets: Brackets, shown: Callable[[str], str]
) -> tuple[str, tuple[Marker, ...]]:
    """The text of pieces with numbered markers, and what the markers are."""
    text, markers = [], []
    for piece in pieces:
        if piece.kind is PieceKind.TEXT:
            text.append(shown(source[piece.start : piece.end]))
        elif piece.kind is PieceKind.CLOSE:
            text.append(brackets.closing(piece.number))
        else:
            text.append(brackets.opening(piece.number))
            kind = MarkerKind.ATOM if piece.kind is PieceKind.ATOM else MarkerKind.PAIR
            markers.append(Marker(piece.number, kind, piece.shown))
    return "".join(text), tuple(markers)


def patch_member(source: str, own: Mapping[str, Found], changed: Mapping[str, str], brackets: Brackets) -> str:
    """The source of a member with its changed blocks; the rest is unchanged."""
    changes = [(found, changed[name]) for name, found in own.items() if name in changed]

    def write(found: Found, new: str, markup: Markup | None) -> str:
        return rebuild(source, found.pieces, new, brackets, WRITER, markup) if found.pieces else escape_value(new)

    return patched(source, (0, len(source)), changes, write)


def encode_member(text: str, member: Member) -> bytes:
    """The bytes of a member. A character that its encoding lacks becomes a numeric reference."""
    try:
        return text.encode(member.encoding, member.errors)
    except UnicodeEncodeError:
        return text.encode(member.encoding, "xmlcharrefreplace")


def _members(archive: zipfile.ZipFile, source: Source, ruby_is_text: bool) -> Iterable[Member]:
    """The members with text: the package first, then documents in reading order, then the rest, then the contents."""
    package = _package(archive, source)
    locked = _locked(archive, source)
    for name, kind in [(package, "opf")] * bool(package) + _documents(archive, source, package):
        if name in locked:
            raise ff.Permanent(say_of_proofread("locked_book", file=source.name), code="locked_book")
        text, encoding, errors = decode_markup(read_member(archive, name, source))
        found, kept = read_page(text, ruby_is_text=ruby_is_text) if kind == "xhtml" else (list(_labels(text)), [])
        yield Member(name, text, encoding, errors, tuple(found), tuple(kept), kind == "opf")


def _package(archive: zipfile.ZipFile, source: Source) -> str:
    names = archive.namelist()
    if CONTAINER in names:
        container = decode_markup(read_member(archive, CONTAINER, source))[0]
        for token in tokens_of(container):
            if token.name.rpartition(":")[2] == "rootfile":
                path = attributes(container[token.start : token.end]).get("full-path", "")
                if path in names:
                    return path
    return next((name for name in names if name.endswith(".opf")), "")


def _documents(archive: zipfile.ZipFile, source: Source, package: str) -> list[tuple[str, str]]:
    """The documents in reading order, then the table of contents; all web pages if the package lists none."""
    found = _listed(archive, source, package) if package else []
    pages = [name for name in archive.namelist() if name.casefold().endswith(PAGES)]
    return found or [(name, "xhtml") for name in pages]


def _listed(archive: zipfile.ZipFile, source: Source, package: str) -> list[tuple[str, str]]:
    names = {name.casefold(): name for name in archive.namelist()} | {name: name for name in archive.namelist()}
    text = decode_markup(read_member(archive, package, source))[0]
    tags = [
        (token.name.rpartition(":")[2], attributes(text[token.start : token.end]))
        for token in tokens_of(text)
        if token.name
    ]
    folder = posixpath.dirname(package)
    manifest = {}
    for name, found in tags:
        if name == "item" and "href" in found:
            path = posixpath.normpath(posixpath.join(folder, unquote(found["href"].partition("#")[0])))
            # Some books spell a name in other cases than the archive; readers on most systems open them all the same.
            path = names.get(path) or names.get(path.casefold(), path)
            manifest[found.get("id", path)] = (path, _media_type(path, found.get("media-type", "")))
    spine = [found.get("idref", "") for name, found in tags if name == "itemref"]
    order = [*spine, *(one for one in manifest if one not in set(spine))]
    listed = [manifest[one] for one in dict.fromkeys(order) if one in manifest and manifest[one][0] in names]
    return [(path, "xhtml") for path, kind in listed if kind in (*DOCUMENTS, DRAWING)] + [
        (path, "ncx") for path, kind in listed if kind == NCX
    ]


def _media_type(path: str, told: str) -> str:
    """The type of a member. A web page is one whatever the package says, unless it is a table of contents."""
    known = told in (*DOCUMENTS, DRAWING, NCX)
    return DOCUMENTS[0] if not known and path.casefold().endswith(PAGES) else told


def _locked(archive: zipfile.ZipFile, source: Source) -> set[str]:
    """The members that are encrypted. Obfuscated fonts are common and no obstacle."""
    if ENCRYPTION not in archive.namelist():
        return set()
    text = decode_markup(read_member(archive, ENCRYPTION, source))[0]
    return {unquote(attributes(text[one.start : one.end]).get("URI", "")) for one in tokens_of(text) if one.name}


def _labels(source: str) -> Iterable[Found]:
    """The titles in a package or table of contents."""
    tokens = tokens_of(source)
    for at, end in sorted(partners(tokens).items()):
        inside = tokens[at + 1 : end]
        is_text = all(one.kind in (TokenKind.TEXT, TokenKind.OTHER) for one in inside)
        if tokens[at].name.rpartition(":")[2] in _TITLES and inside and is_text:
            pieces = trimmed(source, [Piece(PieceKind.TEXT, inside[0].start, inside[-1].end)])
            if pieces:
                yield Found(BlockKind.TITLE, pieces, pieces[0].start, pieces[-1].end)
