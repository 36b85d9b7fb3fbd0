"""What do budgets and shared limits cost per call? The same questions with and without them, in one process and one run.

The provider answers at once, in this process, so that only the machinery around a call is measured.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import sqlalchemy as sa

import fanfold as ff
from fanfold.model.money.questions import Question, Usage
from fanfold.providers.configuration import Provider
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.question_asker import QuestionAsker
from fanfold.providers.services.service import Finish, Request, ServiceReply
from fanfold.settings import Settings
from fanfold.store.store import Store
from tests.databases import PostgresDatabases
from tests.providers.test_call_costs import Attempt
from tests.servers import PostgresServer

CALLS, ROUNDS, AT_ONCE = 1_000, 5, 50
PROVIDER = Provider(
    "fake",
    concurrency=AT_ONCE,
    price_input=1.0,
    price_output=1.0,
    requests_per_minute=10_000_000,
    tokens_per_minute=10_000_000_000,
)
asking = ff.Pipeline("asking")
NUMBERS = count()


@asking.each
async def ask(item: ff.ItemWork) -> str:
    """Never called: the asker is asked directly."""
    return ""


class AtOnce:
    """A service that answers at once."""

    async def call(self, request: Request) -> ServiceReply:
        """The same answer to everything."""
        return ServiceReply("fine", Finish.WHOLE, Usage(10, 10))

    async def close(self) -> None:
        """Nothing to close."""


class NoPlace:
    """Stands for a slot under shared limits."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given: None


@dataclass
class Measured:
    """Of one round: processor seconds and statements per call."""

    seconds: float
    statements: float
    of_money: float


def main(calls: int) -> None:
    """Print the table."""
    columns = ("database", "without", "with", "budget and limits", "statements without", "with", "of budget and limits")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    with tempfile.TemporaryDirectory() as folder:
        show("SQLite", f"sqlite:///{folder}/calls.db", Path(folder), calls)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # The server may run under an account of its own.
        server = PostgresServer(Path(folder) / "server")
        server.start()
        try:
            source = PostgresDatabases(server)
            source.make_template()
            with source.fresh() as url:
                show("PostgreSQL", url, Path(folder), calls)
        finally:
            server.remove()


def show(name: str, url: str, folder: Path, calls: int) -> None:
    """Measure on one database; the rounds with and without alternate, so that load on the machine hits both."""
    store = Store.open(Settings(database=url, data=str(folder / "data")))
    rounds = [(measure(store, calls, is_on=False), measure(store, calls, is_on=True)) for _ in range(ROUNDS + 1)][1:]
    store.close()
    off, on = (median(one[place].seconds for one in rounds) * 1_000 for place in range(2))
    more = median(one[1].seconds - one[0].seconds for one in rounds) * 1_000
    without, with_them = rounds[-1]
    row = (
        name, f"{off:.2f} ms", f"{on:.2f} ms", f"{more:.2f} ms", f"{without.statements:.1f}",
        f"{with_them.statements:.1f}", f"{with_them.of_money:.2f}",
    )  # fmt: skip
    print(f"| {' | '.join(row)} |", flush=True)


def measure(store: Store, calls: int, *, is_on: bool) -> Measured:
    """One round of calls of one task, with a new asker."""
    statements: list[str] = []

    def note(*event: Any) -> None:
        statements.append(event[2])

    client = ff.Client(store=store)
    task = client.submit(asking, items=["a"], budget=1_000_000 if is_on else None)
    [item] = [row.item for row in _items(store, client.lookup.row(task.id).number)]
    attempt = Attempt(task.id, client.lookup.row(task.id).number, item, 1)
    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        began = time.process_time()
        asyncio.run(_ask_all(store, attempt, calls, is_on))
        seconds = time.process_time() - began
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
    money = sum(any(table in text for table in ("budgets", "usage_history", "rate_limit")) for text in statements)
    return Measured(seconds / calls, len(statements) / calls, money / calls)


def _items(store: Store, task: int) -> Any:
    with store.read() as tx:
        return tx.connection.execute(sa.text("SELECT id AS item FROM items WHERE task = :task"), {"task": task}).all()


async def _ask_all(store: Store, attempt: Attempt, calls: int, is_on: bool) -> None:
    asker = QuestionAsker(store, {"fake": PROVIDER}, PROVIDER, connect=lambda _: AtOnce())
    if not is_on:
        asker.limits.place = _no_limits  # type: ignore[method-assign, assignment]
    places = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with places:
            question = Question(f"question {next(NUMBERS)}", (), None, ("fake:m",), None, {})
            inquiry = Inquiry(attempt, question, PROVIDER, "m")
            await asker.answer(asker.rate_limit(PROVIDER, "m"), inquiry, {})

    await asyncio.gather(*(one() for _ in range(calls)))
    await asker.close()


@asynccontextmanager
async def _no_limits(*_: Any) -> AsyncIterator[NoPlace]:
    """Stands for the shared limits: everything is allowed."""
    yield NoPlace()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CALLS)
