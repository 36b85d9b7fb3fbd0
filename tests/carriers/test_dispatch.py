"""The dispatcher sends as many hints as there is work for, and nothing depends on what becomes of them."""

import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.carriers.dispatch import BEGIN_SECONDS, RESEND_SECONDS, Dispatcher
from fanfold.carriers.hint import CarrierDown, Hint, follow, slots
from fanfold.engine.worker.attempt import unstopped
from fanfold.store.rows import hints as hint_rows
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch, one_step
from tests.installation import HandClock, Installation
from tests.waiting import eventually


class Post:
    """A carrier that keeps what it gets; a test decides what arrives."""

    name = "post"

    def __init__(self) -> None:
        self.sent: list[Hint] = []
        self.killed: list[str] = []
        self.dead: list[str] = []
        self.is_down = False

    def send(self, hint: Hint) -> None:
        if self.is_down:
            raise CarrierDown("It is closed.")
        self.sent.append(hint)

    def revoke(self, hint: str, *, kill: bool) -> bool:
        self.killed.append(hint)
        return kill

    def lost(self) -> list[str]:
        return self.dead

    def close(self) -> None:
        """Nothing to close."""


def echo(item: Any) -> Any:
    return item.input


def test_there_are_as_many_hints_as_items_up_to_the_limit(installation: Installation) -> None:
    pipeline = installation.know(batch(handler=echo))
    post = Post()
    dispatcher = Dispatcher(installation.store, [pipeline], post, hints=4)
    assert dispatcher.step() == 0
    installation.client.submit(pipeline, items=["a", "b"])
    assert dispatcher.step() == 2
    assert dispatcher.step() == 0, "they are on their way"
    installation.client.submit(pipeline, items=["c"] * 50)
    assert dispatcher.step() == 2
    assert {hint.name for hint in post.sent} == {"batch.convert"}
    assert len({hint.id for hint in post.sent}) == 4
    assert post.sent[0].id.startswith("batch-convert-")


def test_one_process_of_coroutines_gets_many_items() -> None:
    async def coroutine(item: Any) -> None: ...

    cases: list[tuple[Any, dict[str, Any]]] = [
        (echo, {}), (coroutine, {}), (coroutine, {"concurrency": 50}), (coroutine, {"concurrency": 50, "limit": 9}),
    ]  # fmt: skip
    stages = [batch(handler=handler, **rules).stages["convert"] for handler, rules in cases]
    assert [slots(stage) for stage in stages] == [1, 8, 50, 9]


def test_a_lost_hint_is_sent_again_and_a_late_one_is_ignored(installation: Installation, clock: HandClock) -> None:
    pipeline = installation.know(batch(handler=echo))
    post = Post()
    dispatcher = Dispatcher(installation.store, [pipeline], post)
    installation.client.submit(pipeline, items=["a"])
    assert dispatcher.step() == 1
    clock.advance(RESEND_SECONDS + 1)
    assert dispatcher.step() == 1
    late, new = post.sent
    with installation.store.write() as tx:
        assert not tx.hints.begin(late.id, "worker")
        assert tx.hints.begin(new.id, new.id)
        assert not tx.hints.begin(new.id, "another"), "the message came twice"


def test_a_hint_whose_worker_has_died_no_longer_counts(installation: Installation, clock: HandClock) -> None:
    pipeline = installation.know(batch(handler=echo))
    post = Post()
    dispatcher = Dispatcher(installation.store, [pipeline], post, hints=1)
    installation.client.submit(pipeline, items=["a", "b"])
    assert dispatcher.step() == 1
    [hint] = post.sent
    with installation.store.write() as tx:
        tx.hints.begin(hint.id, hint.id)
        tx.workers.register(f"{hint.id}-abc", "elsewhere", 1, [], 1)
    clock.advance(BEGIN_SECONDS + 1)
    assert dispatcher.step() == 0, "it is alive"
    with installation.store.write() as tx:
        tx.workers.leave(f"{hint.id}-abc")
    assert dispatcher.step() == 1


def test_a_hint_that_the_carrier_knows_to_be_lost_is_replaced_at_once(installation: Installation) -> None:
    """A late one is then followed all the same if its carrier wants that, and counts again."""
    pipeline = installation.know(batch(handler=echo))
    post = Post()
    dispatcher = Dispatcher(installation.store, [pipeline], post, hints=1)
    installation.client.submit(pipeline, items=["a"])
    assert dispatcher.step() == 1
    [lost] = post.sent
    post.dead = [lost.id]
    assert dispatcher.step() == 1
    assert follow(installation.store, [pipeline], lost) is None
    with installation.store.write() as tx:
        tx.hints.add_missing("post", lost.id, "batch", "convert")
        tx.hints.add_missing("post", lost.id, "batch", "convert")
        assert tx.hints.begin(lost.id, "worker")
        tx.hints.add_missing("post", lost.id, "batch", "convert")
        assert not tx.hints.begin(lost.id, "another"), "it is followed already"


def test_items_that_wait_beside_busy_processes_get_a_hint(installation: Installation, clock: HandClock) -> None:
    pipeline = installation.know(batch(handler=echo))
    post = Post()
    dispatcher = Dispatcher(installation.store, [pipeline], post)
    installation.client.submit(pipeline, items=["a"])
    dispatcher.step()
    [hint] = post.sent
    installation.worker().claim(free=1)
    with installation.store.write() as tx:
        tx.hints.begin(hint.id, hint.id)
        tx.workers.register(f"{hint.id}-abc", "elsewhere", 1, [], 1)
    installation.client.submit(pipeline, items=["b"])
    assert dispatcher.step() == 0, "a process that has just begun may still claim it"
    clock.advance(hint_rows.CLAIMING_SECONDS + 0.5)
    assert dispatcher.step() == 1


def test_hints_that_could_not_be_sent_are_sent_when_the_carrier_is_back(installation: Installation) -> None:
    pipeline = installation.know(batch(handler=echo))
    post = Post()
    dispatcher = Dispatcher(installation.store, [pipeline], post)
    installation.client.submit(pipeline, items=["a", "b"])
    post.is_down = True
    assert dispatcher.step() == 0
    assert installation.sql("SELECT * FROM hints") == []
    post.is_down = False
    assert dispatcher.step() == 2


def test_a_process_is_ended_only_if_it_runs_nothing_that_is_wanted(installation: Installation) -> None:
    pipeline = installation.know(batch(handler=echo))
    post = Post()
    dispatcher = Dispatcher(installation.store, [pipeline], post)
    task = installation.client.submit(pipeline, items=["a"])
    dispatcher.step()
    [hint] = post.sent
    worker = installation.worker(f"{hint.id}-abc")
    [claimed] = worker.claim()
    with installation.store.write() as tx:
        tx.hints.begin(hint.id, hint.id)
        tx.unstopped.note(worker.name, claimed._replace(lease=0))
    dispatcher.step()
    assert post.killed == [], "it runs a wanted item"
    installation.client.cancel(task.id)
    dispatcher.step()
    dispatcher.step()
    assert post.killed == [hint.id]


@pytest.mark.one_database
def test_a_hint_leads_to_the_whole_work_of_its_stage(database_url: str, tmp_path: Path) -> None:
    """Claimed, run and settled as by any worker; a doubled hint, a stage without work and an unknown stage do no harm."""
    live = Live(database_url, tmp_path / "data")
    try:
        pipeline = live.know(batch(handler=echo))
        other = live.know(one_step(lambda task: None))
        post = Post()
        task = live.client.submit(pipeline, items=["a", "b", "c"])
        Dispatcher(live.store, [pipeline], post, hints=2).step()
        reports = [follow(live.store, [pipeline, other], hint) for hint in (post.sent[0], post.sent[0], post.sent[1])]
        assert [report and report.finished for report in reports] == [3, None, None]
        assert live.client.get(task.id).state == "completed"
        assert live.client.workers() == []
        assert live.sql("SELECT * FROM hints") == []
        with pytest.raises(ff.FanfoldError, match=r"does not know stage batch\.paint"):
            follow(live.store, [pipeline], Hint("batch", "paint"))
    finally:
        live.store.close()


@pytest.mark.one_database
def test_a_hint_is_not_done_while_a_handler_ignores_a_cancel(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process goes on, so the worker stays and says so, until the carrier ends the process or the handler returns."""
    monkeypatch.setattr(unstopped, "DEAF_SECONDS", 0.3)
    live = Live(database_url, tmp_path / "data")
    switch = Switch()
    pipeline = live.know(batch(handler=lambda item: switch.wait()))
    task = live.client.submit(pipeline, items=["a"])
    post = Post()
    dispatcher = Dispatcher(live.store, [pipeline], post)
    dispatcher.step()
    process = threading.Thread(target=follow, args=(live.store, [pipeline], post.sent[0]))
    process.start()
    try:
        switch.check()
        live.client.cancel(task.id)
        eventually(lambda: live.client.get(task.id).still_running)
        dispatcher.step()
        assert post.killed == [post.sent[0].id]
    finally:
        switch.free.set()
        process.join(60)
        live.store.close()
    assert not process.is_alive()


def test_a_hint_whose_work_others_have_done_costs_few_statements(installation: Installation) -> None:
    """Of eight hints in a queue, two processes may have done everything before the third is read."""
    pipeline = installation.know(batch(handler=echo))
    post = Post()
    installation.client.submit(pipeline, items=["a", "b"])
    assert Dispatcher(installation.store, [pipeline], post).step() == 2
    installation.worker().claim(free=2)
    said: list[str] = []

    def count(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        said.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", count)
    try:
        assert follow(installation.store, [pipeline], post.sent[0]) is None
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", count)
    assert len(said) <= 15, said
    assert not any("workers" in statement for statement in said), "no worker is registered for it"
    assert len(installation.sql("SELECT * FROM hints")) == 1
