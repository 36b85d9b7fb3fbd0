"""`fanfold proofread` and `fanfold translate`: process books, one task each, and save the results beside them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click

import fanfold as ff
from fanfold.apps.proofread.options import PROOFREAD_OPTIONS, TRANSLATE_OPTIONS
from fanfold.running.many_files import files
from fanfold.running.many_files.sources import Endings
from fanfold.running.terminal import models
from fanfold.running.terminal.declared import (
    budget_options,
    budget_wish,
    click_options,
    estimate_options,
    said,
    sample_wish,
)
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation
from fanfold.running.terminal.lanes import chosen_lane, lane_options

if TYPE_CHECKING:
    from fanfold.running import FileCommand

CHUNKS = 8
"""Chunks at the same time."""
TAKEN = (".txt", ".text", ".md", ".markdown", ".epub", ".docx")
NOUN = ("book", "books")
SHARED = (
    "provider", "model", "fallback", "style", "glossary", "rules", "source_encoding", "paragraphs", "chunk_size",
    "encoding", "undecided", "keep_raw",
)  # fmt: skip
PROOFREAD_NAMED = ("mode", *SHARED, "budget_percent", "rules_only")
TRANSLATE_NAMED = ("to", "source_language", *SHARED, "terms")


def _shared(command: Any) -> Any:
    """The options of both commands that belong to no pipeline."""
    for option in reversed(
        (
            lane_options,
            click.option(
                "--straight-through/--no-straight-through",
                default=True,
                help="Whether to run without a person, or to stop before each phase; the same command then continues.",
            ),
            click.option(
                "--jobs", type=click.IntRange(min=1), metavar="N", help="Chunks at the same time [default: 8]."
            ),
            click.option("--fresh", is_flag=True, help="Start over and use no cached answers."),
            budget_options,
            estimate_options,
        )
    ):
        command = option(command)
    return command


_PATHS = click.argument("paths", metavar="PATH...", nargs=-1, required=True)
_OUTPUT = click.option(
    "-o", "--output", metavar="OUT", help="A file, a folder, or - for standard output [default: beside the book]."
)


@click.command("proofread", cls=Command)
@_PATHS
@_OUTPUT
@click_options(PROOFREAD_OPTIONS, only=PROOFREAD_NAMED)
@_shared
@click.pass_obj
def proofread_command(invocation: Invocation, /, paths: tuple[str, ...], output: str | None, **given: Any) -> Exit:
    """Proofread, format or edit books; run it again and it resumes.

    \b
    fanfold proofread novel.txt
    fanfold proofread novel.txt --mode format --rules -indentation
    fanfold proofread books/ -o corrected/ --provider openai

    PATHs are TXT, Markdown, EPUB or DOCX files, folders (searched recursively) or patterns. novel.txt becomes
    novel.proofread.txt, in the format of the source; everything outside the changed text stays byte by byte.

    Every answer is checked paragraph by paragraph. A paragraph without an acceptable answer keeps its source text, is listed,
    and the exit code is 7. `fanfold changes ID` lists all changes, `fanfold decide` accepts or rejects them, and
    `fanfold result ID --form html` shows them. The same book with the same options is paid for once.
    """
    return _perform(invocation, paths, output, given, PROOFREAD_OPTIONS, PROOFREAD_NAMED, ".proofread", proofread_files)


@click.command("translate", cls=Command)
@_PATHS
@_OUTPUT
@click_options(TRANSLATE_OPTIONS, only=TRANSLATE_NAMED)
@_shared
@click.pass_obj
def translate_command(invocation: Invocation, /, paths: tuple[str, ...], output: str | None, **given: Any) -> Exit:
    """Translate books; run it again and it resumes.

    \b
    fanfold translate book.epub --to zh
    fanfold translate book.epub --to zh --glossary terms.csv
    fanfold translate book.epub --to zh --no-straight-through

    PATHs are TXT, Markdown, EPUB or DOCX files, folders (searched recursively) or patterns. book.epub becomes book.zh.epub.
    Without --glossary, a model first collects names and terms from the whole book, so that they are the same in every
    chunk; with --no-straight-through the command stops there, and you can correct them.

    Every answer is checked paragraph by paragraph. A paragraph without an acceptable translation keeps its source text, is
    listed, and the exit code is 7. The same book with the same options is paid for once.
    """
    if not given["to"]:
        raise click.UsageError("Name the language to translate into: --to zh")
    ending = f".{given['to']}"
    return _perform(invocation, paths, output, given, TRANSLATE_OPTIONS, TRANSLATE_NAMED, ending, translate_files)


def _perform(
    invocation: Invocation,
    paths: tuple[str, ...],
    output: str | None,
    given: dict[str, Any],
    declared: tuple[ff.Option, ...],
    named: tuple[str, ...],
    ending: str,
    command: Any,
) -> Exit:
    invocation.log(logging.ERROR)
    kept = (option for option in declared if option.name in named and option.name not in ("provider", "model"))
    sample = sample_wish(given)
    options = said(kept, given)
    options |= models.chosen(given["provider"], given["model"], given["fallback"], must_answer=sample != 0)
    options |= chosen_lane(given)
    if "provider" in options and given["jobs"] is not None:
        models.limit_calls(options["provider"], given["jobs"])
    straight = given.pop("straight_through")
    typed = files.typed(given | {"output": output}) + (() if straight else ("--no-straight-through",))
    asked = files.Asked(
        paths,
        output,
        options,
        typed,
        given["fresh"],
        None,
        given["jobs"] or CHUNKS,
        budget_wish(given),
        sample,
    )
    endings = Endings(TAKEN, ending, NOUN, keeps=True)
    return files.perform(
        invocation, asked, endings, lambda: command(straight), lambda _: files.Processes(("fanfold.apps.proofread",))
    )


def proofread_files(straight_through: bool = True) -> FileCommand:
    """The definition of `proofread` for the code that runs commands over files."""
    from fanfold.apps.proofread.pipeline import proofread

    return _files("proofread", proofread, straight_through)


def translate_files(straight_through: bool = True) -> FileCommand:
    """The definition of `translate`."""
    from fanfold.apps.proofread.translation import translate

    return _files("translate", translate, straight_through)


def _files(name: str, pipeline: ff.Pipeline, straight_through: bool) -> FileCommand:
    from fanfold.running import FileCommand
    from fanfold.running.many_files.saving import whole

    return FileCommand(
        name,
        pipeline,
        Endings(TAKEN, f".{name}", NOUN, keeps=True),
        noun=NOUN,
        main=lambda result: result["file"],
        place=lambda result, target: whole(result["file"], target),
        straight_through=straight_through,
    )
