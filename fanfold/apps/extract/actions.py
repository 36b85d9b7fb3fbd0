"""The actions on a finished extraction: change its columns, ask cells again, get a second opinion, compare with known values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import fanfold as ff
from fanfold.apps.extract.asking.states import DOUBTFUL
from fanfold.apps.extract.redoing import Redo
from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.table.rows import StoredRows
from fanfold.apps.extract.template.fields import Template
from fanfold.apps.extract.template.reading import read_template
from fanfold.model.template import is_reference

FINISHED = ("completed", "partial")
STAGE = "extract"
PAGE = 1_000
ANY = "any"
STATES = (ANY, "doubtful", "weak", "unsupported", "invalid", "conflict", "absent")
FIELDS = ff.Option("columns", "text", "Columns; empty for all.", (), many=True)
DOCUMENTS = ff.Option("items", "text", "Documents, by key or name; empty for all.", (), many=True, label="Documents")
MODEL = ff.Option("model", "model", "The model to ask; empty for the task's model.", "")


def change_columns(work: ff.ActionWork) -> str:
    """Use another template: only new and changed columns are asked."""
    given = (work.options["template"] or "").strip()
    template = read_template(kept_text(work.client, given))
    before = read_template(work.task.options["template"])
    keys = [item.key for item in _items(work)]
    if not keys:
        raise ff.Permanent(say_of_extract("no_records"), code="no_records")
    asked = _changed(before, template)
    redo = Redo.new().text()
    work.client.retry(
        work.task.id,
        keys,
        stage=STAGE,
        options={"redo": redo},
        task_options={"template": template.text(), "redo": None},
    )
    if is_reference(given):
        work.client.templates.use(work.task.id, "extract", given)
    return say_of_extract(
        "columns_changed", columns=len(template.names), asked=asked or say_of_extract("nothing"), documents=len(keys)
    )


def redo_cells(work: ff.ActionWork) -> str:
    """Ask cells again, chosen by column, document or state; optionally with another model."""
    fields = _fields(work, work.options["columns"])
    states = _states(work.options["state"])
    if not (work.options["columns"] or states or work.options["items"]):
        raise ff.Permanent(say_of_extract("redo_what"), code="redo_what")
    keys, count = _with_cells(work, lambda name, cell: name in fields and (not states or cell["state"] in states))
    redo = Redo.new(fields=tuple(fields), states=states, model=work.options["model"])
    work.client.retry(work.task.id, keys, stage=STAGE, options={"redo": redo.text()})
    return say_of_extract("cells_redone", cells=count, documents=len(keys))


def second_opinion(work: ff.ActionWork) -> str:
    """Ask another model about answered cells. Where it disagrees, the cell becomes a conflict for a person to decide."""
    fields = _fields(work, work.options["columns"])
    if not work.options["model"]:
        raise ff.Permanent(say_of_extract("which_model"), code="which_model")
    keys, count = _with_cells(work, lambda name, cell: name in fields)
    redo = Redo.new(fields=tuple(fields), model=work.options["model"], is_opinion=True)
    work.client.retry(work.task.id, keys, stage=STAGE, options={"redo": redo.text()})
    return say_of_extract("opinion_asked", model=work.options["model"], cells=count, documents=len(keys))


def compare_with_gold(work: ff.ActionWork) -> str:
    """Compare the table with known values: right, wrong, missing and invented per column."""
    from fanfold.apps.extract.table.gold import compare, read_gold

    path = work.scratch / "gold.csv"
    path.write_text(work.options["gold"] or "", encoding="utf-8")
    found = compare(StoredRows(work.result["file"].path), read_gold(path, work.result["columns"]))
    told = [
        say_of_extract(
            "gold_column",
            name=name,
            percent=round(100 * (column.accuracy or 0)),
            right=column.right,
            total=column.total,
            wrong=column.wrong,
            missing=column.missing,
            invented=column.invented,
        )
        for name, column in found.columns.items()
    ]
    if found.unmatched:
        told.append(say_of_extract("gold_unmatched", names=found.unmatched[:10]))
    return say_of_extract("gold_compared", columns=told)


def kept_text(client: ff.Client, given: str) -> str:
    """The text of a template, given directly or as the name of a stored template."""
    import json

    if not is_reference(given):
        return given
    body = client.templates.get("extract", given).body
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def _changed(before: Template, after: Template) -> list[str]:
    known = before.fingerprints()
    return [name for name, mark in after.fingerprints().items() if known.get(name) != mark]


def _items(work: ff.ActionWork) -> Iterator[ff.Item]:
    """All documents that were asked about."""
    after = None
    while page := work.client.items(work.task.id, stage=STAGE, after=after, limit=PAGE):
        yield from page
        after = page[-1].key


def _fields(work: ff.ActionWork, wanted: Sequence[str]) -> list[str]:
    names = read_template(work.task.options["template"]).names
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ff.Permanent(say_of_extract("no_such_column", name=unknown[0], known=names), code="no_such_column")
    return list(wanted) or names


def _states(state: str) -> tuple[str, ...]:
    if state == ANY:
        return ()
    return DOUBTFUL if state == "doubtful" else (state,)


def _with_cells(work: ff.ActionWork, is_wanted: Callable[[str, Any], bool]) -> tuple[list[str], int]:
    """The documents that have cells to ask again, and the number of those cells."""
    documents = set(work.options["items"])
    keys, count = [], 0
    for result in work.results(STAGE):
        record = result.output
        names = {result.key, record["document"]["name"], *(row["name"] for row in record["document"]["rows"])}
        if documents and not documents & names:
            continue
        cells = [*record["fields"].items(), *(one for row in record.get("rows", ()) for one in row["fields"].items())]
        wanted = sum(is_wanted(name, cell) for name, cell in cells)
        if wanted:
            keys.append(result.key)
            count += wanted
    if not keys:
        raise ff.Permanent(say_of_extract("no_such_cells"), code="no_such_cells")
    return keys, count


def declare(pipeline: ff.Pipeline) -> None:
    """Declare the actions of a pipeline."""
    template = ff.Option("template", "file", "The new template: its text, or the name of a kept one.", "")
    pipeline.action(
        "columns",
        label="Change columns",
        help="Add, change or remove columns. Only new and changed ones are asked.",
        options=[template],
        states=FINISHED,
    )(change_columns)
    state = ff.Option(
        "state",
        "choice",
        "Only cells in this state; `doubtful` means all that a person should check.",
        ANY,
        choices=STATES,
    )
    pipeline.action(
        "redo",
        label="Ask again",
        help="Ask cells again: one, a column, or all in a state; also of another model.",
        options=[FIELDS, state, DOCUMENTS, MODEL],
        states=FINISHED,
    )(redo_cells)
    pipeline.action(
        "second_opinion",
        label="Second opinion",
        help="Ask another model. Where it disagrees, the cell is a conflict to decide.",
        options=[FIELDS, DOCUMENTS, MODEL],
        states=FINISHED,
    )(second_opinion)
    gold = ff.Option("gold", "file", "A CSV with a column `document` and known values under the names of columns.", "")
    pipeline.action(
        "gold",
        label="Compare with known values",
        help="Accuracy, missing and invented values per column.",
        options=[gold],
        states=("completed",),
    )(compare_with_gold)
