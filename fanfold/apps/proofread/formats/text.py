"""Reads and writes plain text: paragraphs and the gaps between them, which together are the whole file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from fanfold.apps.proofread.formats.book import Block, BlockKind, Book, Place
from fanfold.apps.proofread.formats.encodings import (
    STATEFUL,
    Encoding,
    decode_span,
    detect,
    encode,
    line_ends,
    undecoded,
)
from fanfold.apps.proofread.formats.paragraphs import NEWLINE, Span, is_head, is_wrapped, spans_of_lines
from fanfold.apps.proofread.formats.source import Source
from fanfold.apps.proofread.markers import free_brackets
from fanfold.apps.proofread.sentences import say_of_proofread


def read_text(source: Source, encoding: str | None = None, paragraphs: str = "auto") -> Book:
    """Read a text file. ``paragraphs`` is `lines`, `blank` (separated by blank lines) or `auto`."""
    found = detect(source.data, encoding)
    ends = line_ends(source.data[len(found.mark) :], found.name)
    blocks = tuple(_blocks(source.data, found, _spans(source.data, found, ends, paragraphs)))
    return Book(
        kind="txt",
        source=source.path,
        digest=source.digest,
        blocks=blocks,
        encoding=found.name,
        newline=newline_of(source.data, found, ends),
        brackets=free_brackets("".join(block.text for block in blocks)),
        reports=broken_report(source, found),
    )


def write_text(book: Book, source: Source, changed: Mapping[str, str], encoding: str | None = None) -> bytes:
    """The file with changed blocks. If the encoding is kept, the bytes of all other blocks stay unchanged."""
    target = encoding or book.encoding
    start = detect(source.data[:4], book.encoding).mark
    pieces = [start if target == book.encoding else b""]
    name = source.name
    damaged = {block.id for block in book.blocks if "\ufffd" in block.text} if target == book.encoding else set()
    sound = {block: text for block, text in changed.items() if block not in damaged}
    new = dict(zip(sound, _encoded(list(sound.values()), book.newline, target, name), strict=True))
    for block in book.blocks:
        raw = source.data[block.place.start : block.place.end]
        if block.id in new:
            pieces.append(new[block.id])
            continue
        if block.id in changed:
            pieces.append(_with_broken_bytes(raw, block.text, changed[block.id], book, name))
            continue
        pieces.append(raw if target == book.encoding else encode(decode_span(raw, book.encoding), target, name))
    return b"".join(pieces)


def _with_broken_bytes(raw: bytes, before: str, after: str, book: Book, file: str) -> bytes:
    """A changed paragraph whose source has bytes that cannot be decoded: they stay where the text beside them does."""
    from rapidfuzz.distance import Levenshtein

    broken = iter(undecoded(raw, book.encoding))
    kept = {at: next(broken) for at, one in enumerate(before) if one == "\ufffd"}
    places = {
        step.dest_start + at - step.src_start: kept[at]
        for step in Levenshtein.opcodes(before, after)
        if step.tag == "equal"
        for at in range(step.src_start, step.src_end)
        if at in kept
    }
    pieces, begin = [], 0
    for at, bytes_there in sorted(places.items()):
        pieces += [*_encoded([after[begin:at]], book.newline, book.encoding, file), bytes_there]
        begin = at + 1
    return b"".join([*pieces, *_encoded([after[begin:]], book.newline, book.encoding, file)])


def _encoded(texts: list[str], newline: str, encoding: str, file: str) -> list[bytes]:
    """The texts as bytes. All at once where zero bytes separate them safely: one by one, ten thousand take five times as long."""
    if encoding.startswith(("utf-16", "utf-32")) or encoding in STATEFUL or any("\0" in text for text in texts):
        return [encode(NEWLINE.sub(newline, text), encoding, file) for text in texts]
    return encode(NEWLINE.sub(newline, "\0".join(texts)), encoding, file).split(b"\0") if texts else []


def newline_of(data: bytes, found: Encoding, ends: list[tuple[int, int]]) -> str:
    """The newline that the file uses most; ``ends`` are offsets after the byte order mark."""
    body = data[len(found.mark) :]
    counts = Counter(body[end:after] for end, after in ends)
    return decode_span(counts.most_common(1)[0][0], found.name) if counts else "\n"


def broken_report(source: Source, found: Encoding) -> tuple[str, ...]:
    """A message about bytes that cannot be decoded, if there are any."""
    if not found.broken:
        return ()
    where = {"count": len(found.broken), "first": found.broken[0]}
    return (say_of_proofread("broken_bytes", file=source.name, encoding=found.name, **where),)


def _spans(data: bytes, found: Encoding, ends: list[tuple[int, int]], paragraphs: str) -> list[Span]:
    skipped = len(found.mark)
    body = data[skipped:]
    starts, stops = [0, *(after for _, after in ends)], [*(end for end, _ in ends), len(body)]
    lines = [decode_span(body[start:stop], found.name) for start, stop in zip(starts, stops, strict=True)]
    wrapped = paragraphs == "blank" or (paragraphs == "auto" and is_wrapped(lines))
    spans = spans_of_lines(ends, len(body), (not line.strip() for line in lines), wrapped)
    return [Span(one.start + skipped, one.end + skipped, one.gap) for one in spans]


def _blocks(data: bytes, found: Encoding, spans: list[Span]) -> list[Block]:
    blocks, number = [], 0
    for span in spans:
        text = decode_span(data[span.start : span.end], found.name)
        place = Place(span.start, span.end)
        if span.gap:
            blocks.append(Block(f"{number}+", text, place, kind=BlockKind.GAP))
            continue
        number += 1
        text = NEWLINE.sub("\n", text)
        kind = BlockKind.HEAD if is_head(text) else BlockKind.PARAGRAPH
        blocks.append(Block(str(number), text, place, kind=kind))
    return blocks


_EDGES = re.compile(r"\A(\s*)(.*?)(\s*)\Z", re.DOTALL)


def edges(text: str) -> tuple[str, str, str]:
    """A text divided into leading white space, content and trailing white space."""
    found = _EDGES.match(text)
    assert found is not None
    return found[1], found[2], found[3]
