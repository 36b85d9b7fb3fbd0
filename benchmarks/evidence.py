"""Measures how well quotes are located in real PDFs: sentences of pdfium's own text, unchanged and damaged.

python benchmarks/evidence.py papers/ --sample 100

Each sentence comes from one page as pdfium reads it, not from the text that is searched. A sentence that is on several
pages counts as right on any of them. Only figures are printed; nothing of the documents is kept.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pypdfium2 as pdfium

import fanfold as ff
from fanfold.apps.extract.documents.document import Document
from fanfold.apps.extract.documents.read_document import read_document
from fanfold.apps.extract.evidence.folding import fold
from fanfold.apps.extract.evidence.located import FOUND
from fanfold.apps.extract.evidence.locating import locate

SHORTEST, LONGEST = 50, 300
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？])")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Sentence(NamedTuple):
    """A sentence, its document, and the pages on which it is."""

    text: str
    document: Document
    pages: set[int]


def sentences(path: Path, document: Document) -> Iterator[Sentence]:
    """The sentences of pdfium's text that lie within one page."""
    texts = pages_of(path)
    folded = {number: fold(text).text for number, text in texts.items()}
    recurring = Counter(
        line for text in texts.values() for line in {_without_numbers(line) for line in text.splitlines()}
    )
    for number, text in texts.items():
        lines = [line.strip() for line in text.splitlines() if line.strip() and recurring[_without_numbers(line)] < 2]
        for found in (one for paragraph in paragraphs(lines) for one in _END.split(paragraph)):
            wanted = fold(found).text
            prose = sum(character.isalpha() for character in found) > 0.7 * len(found)
            if SHORTEST <= len(found) <= LONGEST and prose and wanted and found[-1] in ".!?。！？":
                same = {other for other, page in folded.items() if wanted in page}
                yield Sentence(found, document, same | {number})


def _without_numbers(line: str) -> str:
    """A line as it recurs on other pages: page numbers and dates differ."""
    return re.sub(r"[\W\d]+", "", line)


def paragraphs(lines: list[str]) -> Iterator[str]:
    """The running text of a page: a line much shorter than the others ends a paragraph, so heads are paragraphs of their own."""
    usual = statistics.median(map(len, lines)) if lines else 0
    open_lines: list[str] = []
    for line in lines:
        open_lines.append(line)
        if len(line) < 0.7 * usual:
            yield " ".join(open_lines)
            open_lines = []
    yield " ".join(open_lines)


def pages_of(path: Path) -> dict[int, str]:
    """The text of each page according to pdfium."""
    document = pdfium.PdfDocument(path)
    try:
        # pdfium's own signs for a hyphen at the end of a line
        signs = str.maketrans("\ufffe\x02", "--")
        return {
            number: page.get_textpage().get_text_range().translate(signs) for number, page in enumerate(document, 1)
        }
    finally:
        document.close()


def damaged(text: str, share: float, chosen: random.Random) -> str:
    """The text with this share of its characters dropped, replaced or doubled."""
    made: list[str] = []
    for character in text:
        if chosen.random() >= share:
            made.append(character)
        else:
            made.append(chosen.choice(("", chosen.choice(_LETTERS), character * 2)))
    return "".join(made)


def measure(sample: list[Sentence], share: float, chosen: random.Random) -> None:
    """Locate each sentence, and print how many were found, on which page, and how fast."""
    right = found = weak = 0
    seconds: list[float] = []
    for sentence in sample:
        quote = damaged(sentence.text, share, chosen)
        sentence.document.folded  # noqa: B018  (folding is done once per document and measured apart)
        start = time.perf_counter()
        evidence = locate(sentence.document, quote)
        seconds.append(time.perf_counter() - start)
        if evidence is None:
            print(f"  not found: {sentence.document.name}, page {min(sentence.pages)}, {len(quote)} characters")
            continue
        found += evidence.score >= FOUND
        weak += evidence.score < FOUND
        is_right = evidence.page in sentence.pages
        right += is_right
        if not is_right:
            print(f"  wrong page: {sentence.document.name}, {evidence.page} instead of {sorted(sentence.pages)}")
    middle, slowest = statistics.median(seconds) * 1000, max(seconds) * 1000
    print(
        f"damage {share:4.0%}: page right for {right} of {len(sample)}; found {found}, weak {weak}; "
        f"median {middle:.2f} ms, slowest {slowest:.1f} ms"
    )


def main() -> None:
    """Read the documents, draw the sample, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--most-per-document", type=int, default=20)
    parser.add_argument("--names", nargs="*", default=["*.pdf"], help="patterns of file names")
    arguments = parser.parse_args()
    chosen = random.Random(arguments.seed)
    pool: list[Sentence] = []
    for path in sorted({path for pattern in arguments.names for path in arguments.folder.glob(pattern)}):
        try:
            start = time.perf_counter()
            document = read_document(path, ocr=False)
            reading = time.perf_counter() - start
            start = time.perf_counter()
            size = len(document.folded.text)
            folding = time.perf_counter() - start
        except ff.Permanent as error:
            print(f"{path.name}: {error}")
            continue
        known = list(sentences(path, document))
        print(f"{path.name}: {document.pages} pages, {len(document.text)} characters, {len(known)} sentences, "
              f"read in {reading:.2f} s, folded to {size} in {folding * 1000:.0f} ms")  # fmt: skip
        pool.extend(chosen.sample(known, min(len(known), arguments.most_per_document)))
    sample = chosen.sample(pool, min(len(pool), arguments.sample))
    for share in (0.0, 0.02, 0.05, 0.10):
        measure(sample, share, chosen)


if __name__ == "__main__":
    main()
