"""A pipeline whose items make records with evidence on drawn pages, for tests of the table and of the record."""

import struct
import zlib
from typing import Any

import fanfold as ff

WIDTH, HEIGHT = 300, 400
LINES = 12
COLUMNS = ["title", "sample_size", "design", "outcome"]
BOX = {"x": 0.1, "y": 0.25, "width": 0.6, "height": 0.05}


def page_picture(value: Any, page: int = 1) -> bytes:
    """A page with grey bars instead of lines; the bar of the evidence is black."""
    if page > value.get("pages", 2):
        raise ValueError(f"There is no page {page}.")
    rows = []
    for y in range(HEIGHT):
        row = bytearray(b"\xff" * WIDTH)
        line, inside = divmod(y * LINES, HEIGHT)
        if HEIGHT * 0.3 < inside < HEIGHT * 0.7:
            is_quote = BOX["y"] <= y / HEIGHT <= BOX["y"] + BOX["height"]
            shade = b"\x30" if is_quote else b"\xc0"
            end = int(WIDTH * (0.7 if line % 3 else 0.9))
            row[30:end] = shade * (end - 30)
        rows.append(b"\0" + bytes(row))
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 0, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def evidence(quote: str, page: int = 1, score: float = 96.4) -> dict[str, Any]:
    """Where a quote was found."""
    boxes = [{"page": page, **BOX}]
    return {
        "quote": quote,
        "text": quote,
        "page": page,
        "line": 17,
        "start": 810,
        "end": 861,
        "score": score,
        "boxes": boxes,
    }


def cell(column: str, value: Any, state: str = "ok", **more: Any) -> dict[str, Any]:
    """A cell as an application makes it."""
    quote = f"the {column} was {value}"
    made = {"value": value, "raw": value, "state": state, "status": "found", "reason": None, "model": "gpt-test"}
    made |= {"cost": "0.0012", "attempts": 1, "repaired": False, "alternatives": [], "evidence": [evidence(quote)]}
    return made | {"part": ff.part_key(column, value, quote)} | more


def record(name: str, number: int) -> dict[str, Any]:
    """The record of a document: one of each kind of trouble among many that are well."""
    size = cell("sample_size", 100 + number, "weak" if number % 5 == 2 else "ok")
    other = {"value": 99, "state": "ok", "evidence": [evidence("99 people", 2)], "model": "other", "reason": None}
    fields = {
        "title": cell("title", f"Study {number} of <sleep> & rest"),
        "sample_size": size | {"evidence": [evidence(f"a total of {100 + number} participants", 2, 81.0)]},
        "design": cell("design", "RCT" if number % 2 else "cohort"),
        "outcome": cell("outcome", None, "absent", evidence=[], status="not_found"),
    }
    if number % 5 == 3:
        fields["design"] = cell("design", "RCT", "unsupported", reason="The quote is not in the document.", evidence=[])
    if number % 5 == 4:
        fields["sample_size"] = cell("sample_size", 100, "conflict", alternatives=[other])
    return {"columns": COLUMNS, "document": {"name": name, "pages": 2, "rows": []}, "fields": fields, "rows": []}


papers = ff.Pipeline("papers", title="Papers", view="table", picture=page_picture, unit=("document", "documents"))


@papers.each(retry=ff.Retry(limit=0), tolerate=0.99)
def extract(item: ff.ItemWork) -> dict[str, Any]:
    """The record of a document; one whose name begins with `bad` cannot be read."""
    if item.input["name"].startswith("bad") and not item.options.get("mended"):
        raise ff.Permanent("The file is encrypted.")
    return record(item.input["name"], item.seq) | {"asked": item.options.get("column")}


@papers.merge(quiet_seconds=0)
def table(task: ff.TaskWork, results: ff.Results) -> dict[str, Any]:
    """How many decisions there are."""
    return {
        "columns": COLUMNS,
        "rows": sum(1 for _ in results.all()),
        "decided": sum(len(one.decisions) for one in results),
    }


@papers.form("csv", label="Table", media_type="text/csv", partial=True)
def as_csv(work: ff.FormWork) -> str:
    """One line for each document."""
    return "".join(f"{one.output['document']['name']}\n" for one in work.results())


@papers.action(
    "redo", label="Redo", options=[ff.Option("item"), ff.Option("column"), ff.Option("model", "text", "Model.")]
)
def redo(work: ff.ActionWork) -> str:
    """Ask for one cell again."""
    work.client.retry(work.task.id, [work.options["item"]], options={"column": work.options["column"]})
    return f"{work.options['column']} of {work.options['item']} is asked again"


def documents(count: int, bad: int = 0) -> list[ff.NewItem]:
    """Documents, the last of which cannot be read."""
    names = [f"paper{number:04}.pdf" for number in range(1, count - bad + 1)] + [f"bad{n}.pdf" for n in range(bad)]
    return [ff.NewItem(f"doc-{number}", {"name": name, "pages": 2}) for number, name in enumerate(names, 1)]
