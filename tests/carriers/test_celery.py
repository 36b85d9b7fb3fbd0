"""What `attach` does to a team's Celery app, and what the messages say. With real workers: `tests/chaos/test_celery.py`."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

import fanfold as ff
from fanfold.carriers.celery import WORK, CeleryCarrier
from fanfold.carriers.dispatch import Dispatcher
from fanfold.carriers.hint import SHARED, CarrierDown, Hint
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.redis_server import RedisServer
from tests.waiting import eventually


def echo(item: Any) -> Any:
    return item.input


def an_app(broker: str = "memory://", **conf: Any) -> Celery:
    app = Celery("team", broker=broker, set_as_current=False)
    app.conf.update(conf)
    return app


@pytest.fixture
def sent(redis_server: RedisServer) -> Iterator[tuple[CeleryCarrier, RedisServer]]:
    app = an_app(redis_server.url)
    ff.celery.attach(app, [batch(handler=echo)], database="sqlite://")
    carrier = CeleryCarrier(app, resend_seconds=30.0)
    yield carrier, redis_server
    carrier.close()


def test_a_message_is_acknowledged_early_and_leaves_no_result() -> None:
    app = an_app(task_acks_late=True, task_store_errors_even_if_ignored=True, task_track_started=True)
    ff.celery.attach(app, [batch(handler=echo)], database="sqlite://")
    work = app.tasks[WORK]
    assert (work.acks_late, work.ignore_result, work.max_retries) == (False, True, 0)
    assert not work.store_errors_even_if_ignored
    assert not work.track_started


@pytest.mark.parametrize(("own", "after"), [({}, 1), ({"worker_prefetch_multiplier": 7}, 7)])
def test_a_process_prefetches_one_hint_unless_the_team_has_decided_otherwise(own: dict[str, Any], after: int) -> None:
    app = an_app(**own)
    ff.celery.attach(app, [batch(handler=echo)], database="sqlite://")
    assert app.conf.worker_prefetch_multiplier == after


def test_each_stage_has_a_queue_beside_those_of_the_team() -> None:
    app = an_app()
    ff.celery.attach(app, [batch(handler=echo)], database="sqlite://")
    names = {queue.name for queue in app.conf.task_queues}
    assert {"celery", "fanfold.batch.convert"} <= names
    exchanges = [queue.exchange.name for queue in app.conf.task_queues]
    assert len(set(exchanges)) == len(exchanges), "a message goes to one queue only"
    other = an_app()
    ff.celery.attach(other, [batch(handler=echo)], database="sqlite://", queue="gpu.{stage}")
    assert "gpu.convert" in {queue.name for queue in other.conf.task_queues}


def test_a_message_has_a_name_for_people_and_holds_no_data(sent: tuple[CeleryCarrier, RedisServer]) -> None:
    """Flower shows the shadow as the task's name, and the id."""
    carrier, broker = sent
    hint = Hint.new(("batch", "convert"), 5.0)
    carrier.send(hint)
    with broker.client() as client:
        queued: Any = client.lrange("fanfold.batch.convert", 0, -1)
    [message] = [json.loads(one) for one in queued]
    headers = message["headers"]
    assert (headers["task"], headers["shadow"], headers["fanfold"]) == (WORK, "batch.convert", "batch.convert")
    assert headers["id"] == hint.id
    assert hint.id.startswith("batch-convert-")
    assert headers["expires"] is not None, "when another one is sent, this one is over"
    assert headers["ignore_result"] is True
    assert json.loads(base64.b64decode(message["body"]))[0] == ["batch", "convert", 5.0, hint.id]


def test_a_broker_that_is_gone_is_told_without_its_password(sent: tuple[CeleryCarrier, RedisServer]) -> None:
    carrier, broker = sent
    broker.kill()
    with pytest.raises(CarrierDown, match="takes no hints") as told:
        carrier.send(Hint.new(("batch", "convert"), 5.0))
    assert broker.password not in str(told.value)
    assert carrier.revoke("x", kill=True) is False


def test_a_process_that_does_other_things_too_is_never_ended(installation: Installation) -> None:
    """The thread pool of Celery: only one of its threads runs the handler. There, cancel is cooperative."""
    pipeline = installation.know(batch(handler=echo))
    app = an_app()
    ff.celery.attach(app, [pipeline], database="sqlite://")
    carrier = CeleryCarrier(app)
    killed: list[str] = []

    def revoke(hint: str, *, kill: bool) -> bool:
        killed.append(hint)
        return kill

    carrier.revoke = revoke  # type: ignore[method-assign]
    dispatcher = Dispatcher(installation.store, [pipeline], carrier)
    task = installation.client.submit(pipeline, items=["a", "b"])
    assert dispatcher.step() == 2
    rows = installation.sql("SELECT id FROM hints ORDER BY id")
    for (hint,), prefix in zip(rows, (SHARED, ""), strict=True):
        worker = installation.worker(f"{prefix}{hint}-abc")
        [claimed] = worker.claim(free=1)
        with installation.store.write() as tx:
            tx.hints.begin(hint, prefix + hint)
            tx.unstopped.note(worker.name, claimed._replace(lease=0))
    installation.client.cancel(task.id)
    dispatcher.step()
    assert killed == [rows[1][0]]


@pytest.mark.one_database
def test_the_progress_of_a_wrapped_task_is_that_of_the_item(database_url: str, tmp_path: Path) -> None:
    app = an_app()
    go_on = tmp_path / "go-on"

    @app.task(bind=True, name="team.count", max_retries=1)
    def count(self: Any, total: int) -> int:
        self.update_state(state="COUNTING", meta={"current": 3, "total": total, "message": "at 3"})
        eventually(go_on.exists)
        return total

    live = Live(database_url, tmp_path / "data")
    try:
        counted = ff.from_celery(count)
        live.know(counted.pipeline)
        task = live.client.submit(counted, 9)
        with live.working():
            eventually(lambda: any(item.progress for item in live.client.items(task.id)))
            [item] = live.client.items(task.id)
            go_on.touch()
            live.until(task, "completed")
        assert item.progress == pytest.approx(1 / 3)
        assert live.client.result(task.id) == 9
    finally:
        live.store.close()


@pytest.mark.one_database
def test_a_wrapped_task_without_a_limit_of_retries_asks_for_as_many_as_it_wants(
    database_url: str, tmp_path: Path
) -> None:
    app = an_app()

    @app.task(bind=True, name="team.patient", max_retries=None)
    def patient(self: Any) -> int:
        retries: int = self.request.retries
        if retries < 6:
            raise self.retry(countdown=0)
        return retries

    live = Live(database_url, tmp_path / "data")
    try:
        wrapped = ff.from_celery(patient)
        live.know(wrapped.pipeline)
        task = live.client.submit(wrapped)
        with live.working():
            live.until(task, "completed")
        assert live.client.result(task.id) == 6
        assert [(item.attempts, item.failures) for item in live.client.items(task.id)] == [(7, 0)]
    finally:
        live.store.close()
    stage = wrapped.pipeline.find("patient")
    assert stage is not None
    assert stage.retry.limit == ff.Retry().limit, "other exceptions are retried as often as usual"
