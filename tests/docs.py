"""Makes the generated parts of the documentation from the code. `make docs` writes them, a test compares them."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import click

from fanfold import errors
from fanfold.apps.pdf.options import OPTIONS
from fanfold.apps.pdf.reading.pdf_text import Box, LineText, PageText, PdfText, Run
from fanfold.apps.photo.configuration import MEANINGS as PHOTO_MEANINGS
from fanfold.apps.photo.configuration import SERVICE_MEANINGS, PhotoSettings, ServiceSettings
from fanfold.cli import cli, sections
from fanfold.model.endings import Ending
from fanfold.model.lifecycle import ITEM_MOVES, TASK_MOVES, ItemState, Move, diagram
from fanfold.model.money.batch import BATCH_MOVES, MEMBER_MOVES
from fanfold.model.money.shared_budgets import MEANINGS as BUDGET_MEANINGS
from fanfold.model.pipelines.options import KINDS, Option
from fanfold.model.pipelines.view_names import VIEWS
from fanfold.model.pipelines.vocabulary import BEYOND_STAGES
from fanfold.providers.configuration import BUILT_IN, Provider
from fanfold.providers.configuration import MEANINGS as PROVIDER_MEANINGS
from fanfold.running.terminal.exit_codes import MEANINGS as EXIT_MEANINGS
from fanfold.settings import MEANINGS, Settings
from tests.http_reference import escaped, http
from tests.python_reference import python
from tests.sql_reference import sql

DOCS = Path(__file__).parent.parent / "docs"
SHARED = {"database", "data", "json", "verbose"}


def states() -> str:
    """The table of moves, as diagrams and as tables."""
    parts = [
        "# States",
        "Made from the tables of moves in `fanfold/model/lifecycle.py` and `fanfold/model/money/batch.py`. "
        "The [glossary](../glossary.md) explains the words.",
    ]
    titles = "Tasks", "Items", "Batches", "Questions in the batch lane"
    for title, moves in zip(titles, (TASK_MOVES, ITEM_MOVES, BATCH_MOVES, MEMBER_MOVES), strict=True):
        parts += [f"## {title}", matrix(moves), move_table(moves), f"```mermaid\n{diagram(moves)}\n```"]
    return "\n\n".join([*parts, "## How an attempt ends", ending_table()])


def matrix(moves: tuple[Move, ...]) -> str:
    """The verbs that lead from each state to each other one."""
    states = list(dict.fromkeys(state for move in moves for state in (*move.sources, *move.targets)))
    rows = [
        f"| **{source}** | " + " | ".join(", ".join(verbs(moves, source, target)) for target in states) + " |"
        for source in states
    ]
    head = "| from ↓ to → | " + " | ".join(states) + " |"
    return "\n".join([head, "|---" * (len(states) + 1) + "|", *rows])


def verbs(moves: tuple[Move, ...], source: str, target: str) -> list[str]:
    """The verbs of the moves from one state to another."""
    fitting = (move.verb for move in moves if source in move.sources and target in move.targets)
    return list(dict.fromkeys(f"`{verb}`" for verb in fitting))


def move_table(moves: tuple[Move, ...]) -> str:
    """The moves as a table for people."""
    rows = [
        f"| `{move.verb}` | {', '.join(move.sources) or '–'} | {', '.join(move.targets) or 'gone'} "
        f"| {', '.join(move.by)} | {move.why} |"
        for move in moves
    ]
    return "\n".join(["| verb | from | to | by | what it means |", "|---|---|---|---|---|", *rows])


def ending_table() -> str:
    """The endings of an attempt, with their words."""
    rows = [
        f"| `{ending}` | {ending.state or '–'} | {ending.event or '–'} | {ending.outcome} | {ending.log_word} "
        f"| {'yes' if ending.counts else 'no'} | {ending.meaning} |"
        for ending in Ending
    ]
    head = "Made from `fanfold/model/endings.py`. The outcome is what the history of attempts shows."
    table = ["| ending | the item is then | event | outcome | log line | counts as failure | what it means |"]
    return "\n".join([head, "", *table, "|---|---|---|---|---|---|---|", *rows])


def settings() -> str:
    """Every setting with its default."""
    head = (
        "# Settings\n\nA setting comes from the command line, else from the environment, else from `fanfold.toml` in the\n"
        "folder where a command is started (`concurrency = 16`), else it has its default."
    )
    rows = [
        f"| `{field.name}` | `FANFOLD_{field.name.upper()}` | {field.default!r} | {MEANINGS[field.name]} |"
        for field in fields(Settings)
    ]
    table = ["| setting | environment | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join([head, "", *table, "", providers(), "", budgets(), "", pictures()])


def pictures() -> str:
    """What the Photo application is configured with."""
    head = (
        "## Pictures\n\nA table `[photo]` in `fanfold.toml` configures the Photo application, a table "
        "`[photo.services.NAME]` an image service. Keys are never stored: `key_env` names the environment variable with the "
        "key. Time limits and retries are read when a worker starts. How to use them: [Pictures](../guides/photo.md)."
    )
    parts = [head]
    for kind, meanings in ((PhotoSettings, PHOTO_MEANINGS), (ServiceSettings, SERVICE_MEANINGS)):
        rows = [
            f"| `{field.name}` | {'{}' if field.name == 'parameters' else repr(field.default)} | {meanings[field.name]} |"
            for field in fields(kind)
            if field.name in meanings
        ]
        parts += ["", "| setting | default | meaning |", "|---|---|---|", *rows]
    return "\n".join(parts)


def budgets() -> str:
    """What an installation may spend."""
    head = (
        "## Budgets\n\nA table `[budgets]` in `fanfold.toml` says what calls to models may cost, in US dollars: a number for all "
        'time, or `"20 per day"` or `"20 per month"`. It is read again when the file changes.'
    )
    rows = [f"| `{name}` | {meaning} |" for name, meaning in BUDGET_MEANINGS.items()]
    return "\n".join([head, "", "| setting | meaning |", "|---|---|", *rows])


def providers() -> str:
    """What a provider is configured with."""
    head = (
        "## Providers\n\nA table `[providers.NAME]` in `fanfold.toml` adds a provider, or changes a known one. The\n"
        "environment variable `FANFOLD_PROVIDERS_NAME_FIELD` sets one field (write a dash in the name as `_`). Keys are\n"
        "never stored: `key_env` names the environment variable with the key. `FANFOLD_PROVIDER` names the default\n"
        "provider of `ask`. How to use them: "
        "[Asking models](../guides/models.md)."
    )
    rows = [
        f"| `{field.name}` | {field.default!r} | {PROVIDER_MEANINGS[field.name]} |"
        for field in fields(Provider)
        if field.name != "name"
    ]
    known = [
        f"| `{one.name}` | {one.kind} | {one.address} | {f'`{one.key_env}`' if one.key_env else 'none'} | {one.model or '–'} |"
        for one in BUILT_IN
    ]
    return "\n".join(
        [head, "", "| field | default | meaning |", "|---|---|---|", *rows, "", "Known without any configuration:", "",
         "| name | kind | address | key | model |", "|---|---|---|---|---|", *known]
    )  # fmt: skip


def pdf_options() -> str:
    """The options of the PDF application."""
    head = (
        "# Options of the PDF application\n\nFor `fanfold run pdf book.pdf --option NAME=VALUE`, `fanfold submit pdf …` and\n"
        "`client.submit(pdf, …, options={…})`. `fanfold convert` has its own option for most of them. With\n"
        "`retry --option` they apply to particular pages. How to use them: [PDF to Markdown](../guides/pdf.md)."
    )
    rows = [
        f"| `{one.name}` | {one.kind}{' …' if one.many else ''} | {_default(one)} | {one.help} |" for one in OPTIONS
    ]
    table = ["| option | kind | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join([head, "", *table, "", *_pdf_text()])


def _pdf_text() -> list[str]:
    """The function by which other applications read PDFs, and the fields of what it returns."""
    lines = [
        "## Text with boxes",
        "",
        '`fanfold.apps.pdf.read(path, *, pages=None, password=None, ocr="auto", name=None)` returns the text of a PDF with',
        "the page, line and box of every word, in the reading order of the Markdown. Lines of the same document always come",
        "out the same. pdfium is not thread-safe, so call it in a child process: `await item.in_child(read, file.path)`.",
        '`pages` is a range or a list of numbers. With `ocr="auto"` pages without a text layer are read by OCR if',
        "`fanfold[ocr]` is installed; `always` reads all pages by OCR, `never` none. A document that cannot be read raises",
        "`Permanent`; a page that cannot be read has no lines and a `problem`. Boxes are fractions of the displayed page,",
        "from its top left corner. Fields may be added, but none changes its meaning.",
        "",
        "```python",
        "from fanfold.apps.pdf import read",
        "",
        "for page in read(path).pages:",
        "    for line in page.lines:",
        "        print(page.number, line.text, line.box)",
        "```",
        "",
        "| class | fields |",
        "|---|---|",
    ]
    kinds = (PdfText, PageText, LineText, Run, Box)
    named = (f"| `{kind.__name__}` | {', '.join(f'`{one.name}`' for one in fields(kind))} |" for kind in kinds)
    return [*lines, *named]


def applications() -> str:
    """What an application may declare: kinds of options, views, and the usual words."""
    return "\n".join(
        [
            "# What applications declare",
            "",
            "How to write an application: [Applications](../guides/applications.md).",
            "",
            "## Kinds of options",
            "",
            "| kind | value |",
            "|---|---|",
            *(f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()),
            "",
            "## Views",
            "",
            "| view | shape of an item's output |",
            "|---|---|",
            *(f"| `{name}` | {shape} |" for name, shape in VIEWS.items()),
            "",
            "## Words that `ff.Vocabulary` may replace",
            "",
            "Words of a task, besides the `ready`, `doing` and `retrying` words of its stages:",
            ", ".join(f"`{word}`" for word in sorted(BEYOND_STAGES)) + ".",
            "",
            "Words of an item: " + ", ".join(f"`{state}`" for state in ItemState) + ".",
        ]
    )


def _default(option: Option) -> str:
    return "never stored" if option.default is None else repr(option.default)


def error_reference() -> str:
    """The family of errors and the exit codes."""
    tree = inspect.getdoc(errors) or ""
    family = [value for value in vars(errors).values() if inspect.isclass(value) and hasattr(value, "code")]
    rows = [
        f"| `{kind.__name__}` | `{kind.code}` | {escaped((inspect.getdoc(kind) or '').splitlines()[0])} |"
        for kind in family
    ]
    exits = [f"| {code.value} | `{code.name.lower()}` | {meaning} |" for code, meaning in EXIT_MEANINGS.items()]
    return "\n".join(
        [
            "# Errors and exit codes",
            "",
            "Every error states the fact and the way out. With `--json`, a command prints it as",
            '`{"error": {"code": …, "message": …}}`.',
            "",
            "```text",
            *tree.splitlines()[2:],
            "```",
            "",
            "| class | code | meaning |",
            "|---|---|---|",
            *rows,
            "",
            "A `DatabaseProblem` often has a more precise code:",
            "",
            "| code | meaning |",
            "|---|---|",
            *(f"| `{code}` | {meaning} |" for code, meaning in errors.DATABASE_CODES.items()),
            "",
            "## Exit codes",
            "",
            "| code | name | meaning |",
            "|---|---|---|",
            *exits,
        ]
    )


def commands() -> str:
    """Every command with its options."""
    context = click.Context(cli, info_name="fanfold")
    parts = ["# Commands", shared_options(context)]
    for section, names in sections().items():
        parts.append(f"## {section}")
        for name in names:
            command = cli.get_command(context, name)
            assert command is not None
            parts += command_text(command, f"fanfold {name}", context)
    return "\n\n".join(parts)


def shared_options(context: click.Context) -> str:
    """What every command takes."""
    shared = [
        found for parameter in cli.params if (found := parameter.get_help_record(context)) and parameter.name in SHARED
    ]
    return "Every command also takes:\n\n" + option_table(shared)


def command_text(command: click.Command, name: str, parent: click.Context) -> list[str]:
    """One command, or a group with its commands."""
    context = click.Context(command, info_name=name, parent=None)
    if isinstance(command, click.Group):
        subcommands = [(sub, command.get_command(context, sub)) for sub in command.list_commands(context)]
        return [part for sub, found in subcommands if found for part in command_text(found, f"{name} {sub}", context)]
    pieces = " ".join(command.collect_usage_pieces(context))
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    own = [option for option in options if option.name not in {*SHARED, "help"}]
    records = [found for parameter in own if (found := parameter.get_help_record(context))]
    text = "\n\n".join(paragraph(one) for one in inspect.cleandoc(command.help or "").split("\n\n"))
    return [f"### `{name} {pieces}`", text, *([option_table(records)] if records else [])]


def paragraph(text: str) -> str:
    """A paragraph of a help text. One that click must not wrap (examples, tables) becomes a code block."""
    if not text.startswith("\b\n"):
        return text
    lines = text.removeprefix("\b\n").splitlines()
    is_shell = all(line.startswith("fanfold ") and "   " not in line for line in lines)
    return "\n".join([f"```{'sh' if is_shell else 'text'}", *lines, "```"])


def option_table(records: list[tuple[str, str]]) -> str:
    """Options as a table."""
    rows = [f"| `{escaped(names)}` | {escaped(meaning)} |" for names, meaning in records]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def decisions() -> str:
    """The list of decisions by area, from the headings of their pages."""
    head = (
        "# Decisions\n\nWhy Fanfold is built as it is, one page per decision. Measurements are from a machine with two cores,\n"
        "with fsync on. A new decision gets the next number and an area; `make docs` adds it to this list."
    )
    areas: dict[str, list[str]] = {}
    for page in sorted((DOCS / "decisions").glob("0*.md")):
        title, _, area, *_ = page.read_text(encoding="utf-8").splitlines()
        areas.setdefault(area.removeprefix("Area: "), []).append(f"- [{title.removeprefix('# ')}]({page.name})")
    return "\n\n".join([head, *("\n".join([f"## {area}", "", *rows]) for area, rows in areas.items())])


PAGES: dict[str, Callable[[], str]] = {
    "reference/python.md": python,
    "reference/http.md": http,
    "reference/cli.md": commands,
    "reference/sql.md": sql,
    "reference/settings.md": settings,
    "reference/states.md": states,
    "reference/errors.md": error_reference,
    "reference/applications.md": applications,
    "reference/pdf.md": pdf_options,
    "decisions/README.md": decisions,
}
"""Every generated page, and what makes it."""


def main() -> None:
    """Write every page."""
    for name, render in PAGES.items():
        (DOCS / name).write_text(render() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
