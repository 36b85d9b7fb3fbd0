"""The stage `validate`: reads a book, divides it into chunks at natural boundaries, and applies the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.proofread.checks.already import script_of_book
from fanfold.apps.proofread.chunks import Chunk, Part, prove_complete, split_chunks, surroundings
from fanfold.apps.proofread.formats import read_book
from fanfold.apps.proofread.formats.book import Block, BlockKind, Book, Brackets, MarkerKind
from fanfold.apps.proofread.options import Options
from fanfold.apps.proofread.rules import LAYOUT, AnyRule, Setting, correct_blocks, correct_line, is_chinese
from fanfold.apps.proofread.sentences import say_of_proofread
from fanfold.apps.proofread.stages.entries import Entry

LONGEST_SHOWN = 2_000
"""Number of characters that are stored of what a marker stands for."""
FEW_CHARACTERS = 600
"""A repeated paragraph is asked about alone if that saves at least this many characters; a question has about as many."""


@dataclass(frozen=True)
class Ruling:
    """The rules of a book and what they need to know about it."""

    rules: tuple[AnyRule, ...]
    chinese: bool
    layout: bool

    def with_steps(self, entry: Entry) -> Entry:
        """A stored entry with the steps of its rules. If the rules were changed since, it keeps its text and has no steps."""
        if entry.steps or not entry.asked or entry.ruled == entry.source:
            return entry
        made = self.corrected(entry) if entry.block != entry.id else self._whole(entry)
        return replace(entry, steps=made.steps) if made.ruled == entry.ruled else entry

    def _whole(self, entry: Entry) -> Entry:
        own = [rule for rule in self.rules if self.layout or rule.name not in LAYOUT]
        text, steps = correct_line(entry.source, own, Setting(entry.kind is BlockKind.HEAD, self.chinese), entry.id)
        return replace(entry, ruled=text, steps=tuple(steps))

    def corrected(self, entry: Entry) -> Entry:
        """A piece of a long paragraph after the rules. White space where it was divided stays."""
        before, inside, after = entry.without_cuts(entry.source)
        own = [rule for rule in self.rules if self.layout or rule.name not in LAYOUT]
        if entry.inner:
            own = [rule for rule in own if rule.name not in LAYOUT]
        text, steps = correct_line(inside, own, Setting(entry.kind is BlockKind.HEAD, self.chinese), entry.id)
        whole = tuple(
            replace(step, before=before + step.before + after, after=before + step.after + after) for step in steps
        )
        return replace(entry, ruled=before + text + after, steps=whole)


def book_of(path: Path, options: Options) -> Book:
    """Read the book as the options say."""
    return read_book(path, options.source_encoding or None, options.paragraphs, ruby_is_text=options.is_translation)


def named_file(work: ff.TaskWork) -> Path:
    """The file of the task under its own name, which messages show and whose extension tells its format."""
    source = work.input
    if not isinstance(source, ff.File):
        raise ff.Permanent(say_of_proofread("one_file"), code="bad_input")
    path = work.scratch / (Path(source.name.replace("\\", "_")).name or "book.txt")
    if not path.exists():
        path.symlink_to(source.path.resolve())
    return path


def validated(path: Path, options: Options) -> list[dict[str, Any]]:
    """The inputs of the chunks of a book; in a child process."""
    book = book_of(path, options)
    chunks = split_chunks(book.blocks, options.chunk_size or None)
    prove_complete(book.blocks, chunks)
    ruling = Ruling(() if options.is_translation else options.chosen_rules, is_chinese(book.blocks), book.kind == "txt")
    entries = _marked(_assigned(book, chunks, ruling))
    script = script_of_book("\n".join(block.text for block in book.blocks)) if options.is_translation else ""
    return [
        {
            "number": chunk.number,
            "chapter": chunk.chapter,
            "entries": [entry.as_dict() for entry in some],
            "context": surroundings(chunks, at),
            "chinese": ruling.chinese,
            "layout": ruling.layout,
            "brackets": [book.brackets.left, book.brackets.right],
            **({"script": script} if script else {}),
            **({"emphasis": True} if book.kind == "md" else {}),
            **({"reports": [str(report) for report in book.reports]} if at == 0 and book.reports else {}),
        }
        for at, (chunk, some) in enumerate(zip(chunks, entries, strict=True))
    ]


def items(inputs: Iterable[dict[str, Any]]) -> Iterator[ff.NewItem]:
    """One item per chunk."""
    return (ff.NewItem(str(given["number"]), given) for given in inputs)


def _assigned(book: Book, chunks: Sequence[Chunk], ruling: Ruling) -> list[list[Entry]]:
    """The entries of each chunk. A block without letters that a rule changed belongs to the chunk before it."""
    ruled = correct_blocks(book.blocks, ruling.rules, newline=book.newline, layout=ruling.layout)
    steps: dict[str, list[Any]] = {}
    for step in ruled.steps:
        steps.setdefault(step.block, []).append(step)
    parts: dict[str, list[tuple[int, Part]]] = {}
    for at, chunk in enumerate(chunks):
        for part in chunk.parts:
            parts.setdefault(part.block, []).append((at, part))
    found: list[list[Entry]] = [[] for _ in chunks]
    current = 0
    for block in book.blocks:
        for number, (at, part) in enumerate(own := parts.get(block.id, [])):
            current = at
            if len(own) == 1:
                entry = _entry(block, ruled.changed.get(block.id, block.text), steps.get(block.id, ()))
            else:
                entry = ruling.corrected(Entry(part.id, block.id, part.kind, part.text, part.text, inner=number > 0))
            found[at].append(replace(entry, shown=_shown(block, entry.source, book.brackets)))
        if not own and block.id in ruled.changed:
            entry = _entry(block, ruled.changed[block.id], steps.get(block.id, ()))
            found[current].append(replace(entry, asked=False))
    return found


def _shown(block: Block, text: str, brackets: Brackets) -> tuple[tuple[str, str], ...]:
    """The markers of a text that stand for words, such as code, each with the words."""
    atoms = ((brackets.opening(one.number), one.shown) for one in block.markers if one.kind is MarkerKind.ATOM)
    return tuple(
        (mark, shown[:LONGEST_SHOWN]) for mark, shown in atoms if mark in text and any(map(str.isalnum, shown))
    )


def _entry(block: Block, ruled: str, steps: Iterable[Any]) -> Entry:
    return Entry(block.id, block.id, block.kind, block.text, ruled, tuple(steps))


def _marked(entries: list[list[Entry]]) -> list[list[Entry]]:
    """The entries, with repeated paragraphs marked if asking about them once saves more than a question costs."""
    counts = Counter(entry.ruled.strip() for some in entries for entry in some if entry.asked)
    often = {text for text, count in counts.items() if (count - 1) * len(text) >= FEW_CHARACTERS}
    return [
        [replace(entry, repeated=True) if entry.asked and entry.ruled.strip() in often else entry for entry in some]
        for some in entries
    ]
