"""The stages of an extraction: read every document, ask about its fields, and join the records into one table.

fanfold extract papers/ --template fields.yaml -o table.xlsx
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fanfold as ff
from fanfold.apps.extract import actions, chinese, forms, items, merging
from fanfold.apps.extract.asking.opinions import compared, compared_rows
from fanfold.apps.extract.asking.reasons import cells_of, keep_codes
from fanfold.apps.extract.asking.rule_checks import apply_rules
from fanfold.apps.extract.asking.states import DOUBTFUL, Cell
from fanfold.apps.extract.documents import manifests
from fanfold.apps.extract.documents.document import Document, NewLine
from fanfold.apps.extract.estimating import expected_calls
from fanfold.apps.extract.options import OPTIONS, Options
from fanfold.apps.extract.redoing import Plan, Record, Redo, opinion_fields, planned
from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template.fields import Template
from fanfold.apps.extract.template.reading import mistakes_of

if TYPE_CHECKING:
    from fanfold.apps.extract.asking.records import Inquiry, Made

ANY_NUMBER = 1_000_000_000
"""Failed documents do not stop the others: each becomes a row with its reason."""
PICTURE = 1_600
"""Longest side of the picture of a page, in pixels: quotes must be legible."""
UNPACKED = (".zip", *manifests.ENDINGS)
ACCEPTS = (".pdf", ".docx", ".html", ".htm", ".xhtml", ".md", ".markdown", ".txt", ".text", *UNPACKED)


def page_picture(given: dict[str, Any], page: int = 1) -> bytes:
    """A page of a document as JPEG; only PDFs have pages. Drawn from the input of either stage."""
    from fanfold.apps.extract.documents.read_document import is_pdf
    from fanfold.apps.pdf.reading.document import picture

    file = given.get("file")
    if file is None or not is_pdf(file.path):
        raise ff.Permanent(say_of_extract("no_pages_to_draw"), code="no_picture")
    return picture(file.path, page, longest=PICTURE).jpeg


extract = ff.Pipeline(
    "extract",
    title="Extract fields",
    check_options=Options.of,
    options=OPTIONS,
    accepts=ACCEPTS,
    unit=("document", "documents"),
    view="table",
    picture=page_picture,
    templates=[
        ff.TemplateKind(
            "extract",
            label="Fields to extract",
            help="The columns of a table: one line for each field.",
            check=mistakes_of,
            option="template",
            example="title: What is the title?\nsample_size: integer — How many people took part?\n",
        )
    ],
    words=ff.Vocabulary(
        item={"running": "processing", "done": "completed", "waiting": "pending"},
        languages={"zh": chinese.WORDS},
        sentences=say_of_extract,
    ),
)
extract.items_from(items.items)
extract.unpack(*UNPACKED)(items.unpack)
extract.estimate(expected_calls)
forms.declare(extract)
actions.declare(extract)


@extract.each(phase="read", timeout=900, retry=ff.Retry(limit=2), tolerate=ANY_NUMBER)
async def read(item: ff.ItemWork) -> dict[str, Any]:
    """Read a document as numbered lines. A PDF is read in a child process."""
    given: Any = item.input
    if not isinstance(given, dict):
        given = {"text": str(given)}
    if given.get("refused"):
        raise ff.Permanent(given["refused"], code="refused")
    name = str(given.get("name") or item.key)
    told = {"name": name, "rows": items.rows_of_input(given, name)}
    if "text" in given:
        text = str(given["text"] or "")
        return told | {"text": text, "sha256": hashlib.sha256(text.encode()).hexdigest(), "pages": None}
    if not isinstance(given.get("file"), ff.File):
        raise ff.Permanent(say_of_extract("no_document_given"), code="no_document")
    target = item.scratch / "document.json"
    path = await item.local(given["file"])
    known = await item.in_child(save_document, path, name, target, ocr=Options.of(item.options).ocr)
    document = await asyncio.to_thread(item.write, "document.json", target)
    for note in known.pop("notes"):
        item.degraded(note)
    return told | known | {"file": given["file"], "document": document}


def save_document(path: Path, name: str, target: Path, *, ocr: bool) -> dict[str, Any]:
    """Read a document and save it as lines; in a child process."""
    from fanfold.apps.extract.documents.read_document import read_document

    document = read_document(path, name, ocr=ocr)
    document.save(target)
    return {"sha256": document.sha256, "pages": document.pages, "kind": document.kind, "notes": list(document.notes)}


@extract.each(name="extract", timeout=3_600, retry=ff.Retry(limit=3), tolerate=ANY_NUMBER)
async def ask(item: ff.ItemWork) -> Record:
    """Ask about the fields of one document: all, or only those that are new, changed or requested again."""
    from fanfold.apps.extract.asking.records import Inquiry, Rules

    options = Options.of(item.options)
    template, redo = options.fields, Redo.of(options.redo)
    earlier: Record | None = await asyncio.to_thread(lambda: item.earlier)
    document = await asyncio.to_thread(_document, item.input)
    rules = Rules(options.context, redo.model or None if redo is not None else None)
    inquiry = Inquiry(item.ask, template, document, rules)
    plan = planned(template, earlier, redo)
    made = await inquiry.asked(plan.ask, keeps=bool(plan.kept or plan.rows))
    record = _record(template, plan, made)
    if redo is not None and redo.is_opinion and earlier is not None:
        await _compare(item, inquiry, record, redo, {one.name for one in plan.ask})
    apply_rules(template.rules, record["fields"], [row["fields"] for row in record.get("rows", ())])
    record |= {"document": {name: item.input.get(name) for name in ("name", "sha256", "pages", "rows")}}
    record |= {"redo": redo.token if redo is not None else None}
    keep_codes(record)
    _mark(item, record)
    return record


async def _compare(item: ff.ItemWork, inquiry: Inquiry, record: Record, redo: Redo, new: set[str]) -> None:
    """Add a second opinion to the cells that are not ``new``. Cells that the model does not answer stay as they are."""
    fields = [one for one in opinion_fields(inquiry.template, redo) if one.name not in new]
    second = await inquiry.asked(fields, keeps=True)
    for name in second.fields.keys() - second.unanswered:
        record["fields"][name] = compared(record["fields"][name], second.fields[name])
    names = [one.name for one in inquiry.template.of_rows if one.name in (redo.fields or (one.name,))]
    if any(one in fields for one in inquiry.template.of_rows) and (second.rows or not second.problems):
        rows = [row["fields"] for row in record["rows"]]
        record["rows"] = _numbered(compared_rows(rows, second.rows, names, redo.model))
    if second.problems:
        item.degraded(say_of_extract("opinion_failed", model=redo.model, why=second.problems[0]))


def _record(template: Template, plan: Plan, made: Made) -> Record:
    """The output of an item: the cells of the document, and of its rows."""
    cells = plan.kept | made.fields
    fields = {one.name: cells[one.name] for one in template.of_document}
    rows = made.rows or plan.rows
    record: Record = {"columns": template.names, "fields": fields, "asked": template.fingerprints()}
    if template.of_rows:
        record["rows"] = _numbered(rows)
    return record | ({"set_aside": plan.set_aside} if plan.set_aside else {})


def _numbered(rows: list[dict[str, Cell]]) -> list[dict[str, Any]]:
    return [{"key": str(number), "fields": row} for number, row in enumerate(_apart(rows), 1)]


def _apart(rows: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    """The rows with a key for each cell, so that equal cells in two rows are decided separately."""
    seen: Counter[str] = Counter()
    made = []
    for row in rows:
        cells = {}
        for name, cell in row.items():
            part = cell["part"].partition("-")[0]
            seen[part] += 1
            cells[name] = cell | {"part": part if seen[part] == 1 else f"{part}-{seen[part]}"}
        made.append(cells)
    return made


def _document(given: dict[str, Any]) -> Document:
    if "text" in given:
        lines = (NewLine(line, heading=line.startswith("#")) for line in given["text"].splitlines())
        return Document.of(given["name"], given["sha256"], "text", lines)
    return Document.load(given["document"].path)


def _mark(item: ff.ItemWork, record: Record) -> None:
    """Mark a record with cells that a person should look at."""
    counted = Counter(cell["state"] for cell in cells_of(record))
    doubtful = [say_of_extract(f"cells_{state}", count=counted[state]) for state in DOUBTFUL if counted[state]]
    if doubtful:
        item.degraded(say_of_extract("doubtful_cells", cells=doubtful))


@extract.merge
def table(task: ff.TaskWork, results: ff.Results) -> dict[str, Any]:
    """Join all records, with the decisions of people, into one table."""
    return merging.join(task, results, Options.of(task.options).fields)
