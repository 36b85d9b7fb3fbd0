"""The statements that are run for every item and every turn, as each database gets them: a page of the reference."""

import re
import textwrap
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.endings import Ending
from fanfold.store.dialects.known import NAMES, named
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.dialects.sqlite_parts.limit_clause import compile_limits_once
from fanfold.store.items import claim, count, create, find_work, settle

HEAD = """\
# The SQL of the hot path

These statements run for every item and every turn of a worker. SQLAlchemy generates them for both databases from the
functions named here; `fanfold/store/dialects/` has the differences. Each statement is compiled to text once per process.
Parameters are shown by name (`:wanted`), constants by value. After a change, check the query plans too:
`tests/store/test_query_plans.py`."""
TITLES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
CLAUSES = re.compile(
    r" (?=(?:SET|FROM|LEFT OUTER JOIN|WHERE|GROUP BY|HAVING|ORDER BY|LIMIT|UNION ALL|RETURNING|FOR UPDATE) )"
    r"|(?<!OUTER) (?=JOIN )|(?<=\)) (?=SELECT )"
)
CAST = r"(?:::(?:TIMESTAMP WITH TIME ZONE|[A-Z]+))?"
WIDTH = 120


class Statement(NamedTuple):
    """A statement of the hot path: its name, what it does, and how it is built."""

    name: str
    does: str
    build: Callable[[SqlClock], sa.Executable]
    only: str = ""
    """The one database that needs it."""


def settling(verb: str) -> Callable[[SqlClock], sa.Executable]:
    """The UPDATE of one verb."""
    return lambda clock: settle.move_statement(clock, Ending[verb.upper()])


STATEMENTS = (
    Statement(
        "ready",
        "A page of the active tasks of a stage, with whether each has a pending item: `find_work.walk_statement`. It has a "
        "part for each stage that a worker serves; here one.",
        lambda clock: find_work.walk_statement(clock.dialect, 1),
    ),
    Statement(
        "news",
        "Tasks that were submitted or have moved since the last look: `find_work.news_statement`.",
        lambda clock: find_work.news_statement(clock.dialect),
    ),
    Statement("due", "Tasks with an item whose time has come: `find_work.due_statement`.", find_work.due_statement),
    Statement("next", "How long until an item falls due: `find_work.next_statement`.", find_work.next_statement),
    Statement(
        "claim",
        "pending → running, with a new lease: `claim.claim_statement`. PostgreSQL gives the items with their data.",
        lambda clock: claim.claim_statement(clock, False),
    ),
    Statement(
        "claim what is due",
        "retrying or waiting → running, with a new lease: `claim.claim_statement`.",
        lambda clock: claim.claim_statement(clock, True),
    ),
    Statement(
        "load",
        "The data of items that were just claimed, where the claim cannot give them: `claim.load_statement`.",
        claim.load_statement,
        only="sqlite",
    ),
    *(
        Statement(f"settle: {verb}", f"{does}: `settle.move_statement`.", settling(verb))
        for verb, does in {
            "finish": "running → done, for the leases that are still held",
            "fail": "running → failed",
            "back_off": "running → retrying",
            "postpone": "running → waiting",
            "release": "running → pending without a failure counted",
        }.items()
    ),
    Statement("probe", "Whether a stage has an open item left: `create.OPEN_PROBE`.", lambda _: create.OPEN_PROBE),
    Statement(
        "counts of a task",
        "How many items of each stage are in each state: `count.COUNTED_OF_ONE`.",
        lambda _: count.COUNTED_OF_ONE,
    ),
    Statement(
        "counts of a stage",
        "The same for one stage: `count.COUNTED_OF_STAGE`.",
        lambda _: count.COUNTED_OF_STAGE,
    ),
)


def sql() -> str:
    """Every statement of the hot path, for each database."""
    return "\n\n".join([HEAD, *(part for statement in STATEMENTS for part in parts(statement))])


def parts(statement: Statement) -> Iterator[str]:
    """A statement as a section."""
    yield f"## {statement.name}"
    yield statement.does
    for name in [statement.only] if statement.only else NAMES:
        text = compiled(statement.build(named(name).clock()), name)
        yield f"{TITLES[name]}:\n\n```sql\n{text}\n```"


def compiled(statement: Any, name: str) -> str:
    """The text that a database gets, in lines that can be read."""
    url = named(name).checked(sa.make_url(f"{name}:///"))
    speaking: Any = url.get_dialect()
    dialect = speaking(paramstyle="named")
    if name == "sqlite":
        compile_limits_once(dialect)
    made = statement.compile(dialect=dialect)
    text = " ".join(str(made).split())
    for bind, parameter in made.bind_names.items():
        if bind.callable is None and not bind.required:
            text = re.sub(rf":{parameter}\b{CAST}", written(bind.value), text)
    return "\n".join(lines(text))


def written(value: object) -> str:
    """A value as SQL."""
    if isinstance(value, datetime):
        value = value.isoformat(" ")
    return "NULL" if value is None else repr(value)


def lines(text: str) -> Iterator[str]:
    """One line for each clause, indented by the brackets it stands in."""
    depth = 0
    for clause in CLAUSES.split(text):
        margin = "  " * depth
        yield from textwrap.wrap(
            clause,
            WIDTH,
            initial_indent=margin,
            subsequent_indent=margin + "    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        depth += clause.count("(") - clause.count(")")
