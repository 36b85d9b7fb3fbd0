"""`fanfold extract`: extracts fields from documents into one table."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click

from fanfold.apps.extract.options import OPTIONS
from fanfold.running.terminal import models
from fanfold.running.terminal.declared import (
    budget_options,
    budget_wish,
    click_options,
    estimate_options,
    said,
    sample_wish,
    text_of,
)
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation
from fanfold.running.terminal.lanes import chosen_lane, lane_options

if TYPE_CHECKING:
    from fanfold.running import FileCommand

NAMED = ("provider", "model", "fallback", "context", "ocr")
"""Options of an extraction offered on the command line beside the template."""


@click.command("extract", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1)
@click.option(
    "-t", "--template", metavar="FILE", help="The fields: a file, NAME[@VERSION] of a kept one, or module:Model."
)
@click.option("-o", "--output", metavar="FILE", help="The table: .csv, .xlsx, .jsonl or .parquet [default: table.csv].")
@click_options(OPTIONS, only=NAMED)
@click.option(
    "--manifest", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="A CSV or JSONL of documents."
)
@lane_options
@click.option("--task", metavar="ID", help="Change the columns of this task instead of starting one.")
@click.option("--suggest", metavar="TEXT", help="Draft a template for this purpose from the documents, and stop.")
@click.option(
    "--gold", type=click.File(encoding="utf-8-sig"), help="A CSV with known values: compare the table with it."
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Documents at the same time [default: 8].")
@click.option("--fresh", is_flag=True, help="Start over and use no cached answers.")
@budget_options
@estimate_options
@click.pass_obj
def command(invocation: Invocation, /, paths: tuple[str, ...], output: str | None, **given: Any) -> Exit:
    """Extract fields from documents into a table; run it again and it resumes.

    \b
    fanfold extract papers/ --template fields.yaml -o table.xlsx
    fanfold extract --suggest "trials of statins" paper.pdf -o fields.yaml
    fanfold extract --task ID --template more-fields.yaml -o table.xlsx

    PATHs are files, folders (searched recursively), patterns, ZIP archives, or a manifest (.csv or .jsonl with a column
    `source`), whose other columns are carried into the table. All documents become one task. Every value needs a quote that is
    found in its document; the table shows where, and marks what has no support.

    A document that fails is a row with its reason. The exit code is 7 if documents failed or cells are doubtful. The same
    documents, template and options mean the same task, and the same question is paid for once. With --task, only new and
    changed columns are asked for.
    """
    invocation.log(logging.ERROR)
    from fanfold.apps.extract.running import Wanted, perform

    sample = sample_wish(given)
    options = said([one for one in OPTIONS if one.name in NAMED and one.name not in ("provider", "model")], given)
    options |= models.chosen(given["provider"], given["model"], given["fallback"], must_answer=sample != 0)
    options |= chosen_lane(given)
    wanted = Wanted(
        paths=paths,
        output=output,
        options=options,
        template=given["template"],
        manifest=given["manifest"],
        task=given["task"],
        suggest=given["suggest"],
        gold=text_of(given["gold"]) if given["gold"] else None,
        jobs=given["jobs"],
        fresh=given["fresh"],
        budget=budget_wish(given),
        sample=sample,
    )
    return perform(invocation, wanted)


def file_command() -> FileCommand:
    """The definition of `extract` for the code that writes saved results again."""
    from fanfold.apps.extract.pipeline import ACCEPTS, extract
    from fanfold.apps.extract.table.table_file import place
    from fanfold.running import FileCommand
    from fanfold.running.many_files.sources import Endings

    return FileCommand(
        "extract", extract, Endings(ACCEPTS, ".csv"), place=place, renewed_by="extract --task {task} -o {file}"
    )
