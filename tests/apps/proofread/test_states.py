"""The state machine of the design: every row of its diagrams, in its words for job, phase and chunk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.proofread import proofread
from fanfold.testing import Engine, busy, rate_limited
from tests.apps.proofread.answering import MARK, each
from tests.apps.proofread.test_pipeline import CORRECT, NOVEL

OPTIONS = {"model": "openai:large", "chunk_size": 100}
HOLMES: Callable[[Any], bool] = lambda request: "Holmes" in request.prompt.rpartition(MARK)[2]  # noqa: E731


class Job:
    """A job as the design sees it, with what happened to it so far."""

    def __init__(self, engine: Engine, path: Path, **options: Any) -> None:
        self.engine = engine
        self.task = engine.submit(proofread, path, options=OPTIONS | options)
        self.seen: list[str] = [self.word]

    @property
    def word(self) -> str:
        """State and phase of the job."""
        task = self.engine.task(self.task)
        return f"{task.word} {task.phase}"

    def watch(self, stage: str) -> None:
        """Look at the job while a stage is worked on."""
        self.engine.before_handler(stage=stage).call(lambda: self.seen.append(self.word))

    def go_on(self) -> None:
        """Work until nothing is left to do."""
        self.engine.run()
        self.seen.append(self.word)

    def chunks(self) -> list[str]:
        """The states of the chunks."""
        return [item.word for item in self.engine.items(self.task, "process")]

    def chunk(self, key: str = "2") -> ff.Item:
        """One chunk."""
        return next(item for item in self.engine.items(self.task, "process") if item.key == key)


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text(NOVEL, encoding="utf-8")
    return path


def test_a_job_goes_from_phase_to_phase_and_waits_for_a_person_before_each(engine: Engine, novel: Path) -> None:
    engine.answer(each(CORRECT))
    job = Job(engine, novel)
    for stage in ("validate", "process", "merge"):
        job.watch(stage)
    job.go_on()
    assert (job.chunks(), len(engine.requests)) == (["pending"] * 3, 0)
    engine.client.resume(job.task.id)
    job.go_on()
    engine.client.resume(job.task.id)
    job.go_on()
    assert job.seen == [
        "queued validate", "running validate", "paused process", "running process", "paused merge", "running merge",
        "done done",
    ]  # fmt: skip
    assert job.chunks() == ["done"] * 3


def test_a_job_runs_straight_through_if_that_is_asked_for(engine: Engine, novel: Path) -> None:
    engine.answer(each(CORRECT))
    task = engine.submit(proofread, novel, options=OPTIONS, straight_through=True)
    engine.run()
    assert engine.task(task).word == "done"


def begun(engine: Engine, novel: Path, **options: Any) -> Job:
    """A job in its phase `process`."""
    job = Job(engine, novel, **options)
    engine.run()
    engine.client.resume(job.task.id)
    return job


def test_pause_hands_chunks_back_at_once_and_keeps_the_phase(engine: Engine, novel: Path) -> None:
    engine.answer(each(CORRECT))
    job = begun(engine, novel)
    seen = []
    engine.before_handler(stage="process", item="2").call(lambda: seen.append(job.chunk().word))
    engine.before_settle(stage="process", item="2").pause()
    job.go_on()
    assert (seen, job.word, job.chunk().word) == (["processing"], "paused process", "pending")
    engine.client.resume(job.task.id)
    job.go_on()
    assert job.word == "paused merge"
    assert len(engine.requests) == 3, "the answer that came during the pause was paid for once"


def test_a_restart_hands_chunks_back(engine: Engine, novel: Path) -> None:
    engine.answer(each(CORRECT))
    job = begun(engine, novel)
    engine.before_settle(stage="process", item="2").crash()
    job.go_on()
    assert (job.word, job.chunks(), len(engine.requests)) == ("paused merge", ["done"] * 3, 3)


def test_retrying_is_part_of_the_work_and_its_last_error_is_kept_after_success(engine: Engine, novel: Path) -> None:
    engine.answers(busy(), to=HOLMES)
    engine.answer(each(CORRECT))
    job = begun(engine, novel)
    engine.run(advance_clock=False)
    waiting = job.chunk()
    assert (waiting.word, waiting.failures, job.word) == ("retrying", 1, "running process")
    assert "500" in str(waiting.error_message)
    job.go_on()
    done = job.chunk()
    assert (done.word, done.failures, job.word) == ("done", 1, "paused merge")
    assert "500" in str(done.error_message)


def test_a_pause_while_a_chunk_is_retrying_makes_it_pending(engine: Engine, novel: Path) -> None:
    engine.answers(busy(), to=HOLMES)
    engine.answer(each(CORRECT))
    job = begun(engine, novel)
    engine.run(advance_clock=False)
    engine.client.pause(job.task.id)
    engine.clock.advance(3_600)
    engine.run()
    assert job.word == "paused process"
    engine.client.resume(job.task.id)
    job.go_on()
    assert (job.chunks(), job.word) == (["done"] * 3, "paused merge")


def test_a_rate_limit_uses_up_no_retry(engine: Engine, novel: Path) -> None:
    engine.answers(*[rate_limited(after=30)] * 10, to=HOLMES)
    engine.answer(each(CORRECT))
    job = begun(engine, novel)
    job.go_on()
    assert (job.chunks(), job.chunk().failures) == (["done"] * 3, 0)


def test_failed_chunks_are_an_error_and_are_retried_with_another_model(engine: Engine, novel: Path) -> None:
    engine.answer(busy(), to=HOLMES, model="large")
    engine.answer(each(CORRECT))
    job = begun(engine, novel)
    job.go_on()
    assert (job.word, job.chunks()) == ("error process", ["done", "error", "done"])
    engine.client.retry(job.task.id, options={"model": "openai:other"})
    assert (job.chunk().word, job.word) == ("pending", "queued process")
    job.watch("process")
    job.go_on()
    assert job.seen[-2:] == ["running process", "paused merge"]
    assert (job.word, job.chunks()) == ("paused merge", ["done"] * 3)
    models = [item.model for item in engine.items(job.task, "process")]
    assert models == ["openai:large", "openai:other", "openai:large"]
    assert engine.task(job.task).spending.model == "openai:other"


def test_a_running_job_is_cancelled_and_deleted(engine: Engine, novel: Path) -> None:
    engine.answer(each(CORRECT))
    job = begun(engine, novel)
    seen: list[str] = []
    engine.before_handler(stage="process", item="2").call(lambda: seen.append(job.word))
    engine.before_settle(stage="process", item="2").call(lambda: engine.client.cancel(job.task.id))
    job.go_on()
    assert (seen, engine.task(job.task).word) == (["running process"], "cancelled")
    engine.client.delete(job.task.id)
    with pytest.raises(ff.NotFound):
        engine.task(job.task)


@pytest.mark.parametrize("phase", ["queued", "paused", "error", "done"])
def test_a_job_is_deleted_for_good_in_any_state(engine: Engine, novel: Path, phase: str) -> None:
    engine.answer(busy() if phase == "error" else each(CORRECT))
    job = Job(engine, novel)
    if phase != "queued":
        engine.run()
    while phase in ("error", "done") and not job.word.startswith(phase):
        engine.client.resume(job.task.id)
        engine.run()
    assert job.word.startswith(phase)
    if phase in ("queued", "paused"):
        engine.client.cancel(job.task.id)
        assert engine.task(job.task).word == "cancelled"
    engine.client.delete(job.task.id)
    with pytest.raises(ff.NotFound):
        engine.task(job.task)


def test_raw_answers_are_kept_on_failure_and_always_if_asked_for(engine: Engine, novel: Path) -> None:
    engine.answers(each(lambda text: text.replace("nigth", "12 nights")))
    engine.answer(each(CORRECT))
    task = engine.submit(proofread, novel, options=OPTIONS, straight_through=True)
    engine.run()
    [rejected] = [one for result in engine.client.results(task.id) for one in result.output.get("rejected", ())]
    assert (rejected["model"], "12 nights" in rejected["answer"]) == ("openai:large", True)
    assert rejected["why"] == ["numbers were changed: missing ∅, new 12"]
    assert [call.raw for call in engine.calls(task)] == [None] * 4
    kept = engine.submit(proofread, novel, options=OPTIONS | {"keep_raw": True, "fresh": "1"}, straight_through=True)
    engine.run()
    assert all("paragraphs" in str(call.raw) for call in engine.calls(kept))


ROWS = {
    "chunk: pending → processing": test_pause_hands_chunks_back_at_once_and_keeps_the_phase,
    "chunk: processing → done": test_a_job_goes_from_phase_to_phase_and_waits_for_a_person_before_each,
    "chunk: processing → retrying": test_retrying_is_part_of_the_work_and_its_last_error_is_kept_after_success,
    "chunk: retrying → processing": test_retrying_is_part_of_the_work_and_its_last_error_is_kept_after_success,
    "chunk: retrying → done": test_retrying_is_part_of_the_work_and_its_last_error_is_kept_after_success,
    "chunk: processing → error": test_failed_chunks_are_an_error_and_are_retried_with_another_model,
    "chunk: retrying → error": test_failed_chunks_are_an_error_and_are_retried_with_another_model,
    "chunk: error → pending": test_failed_chunks_are_an_error_and_are_retried_with_another_model,
    "chunk: processing → pending, pause": test_pause_hands_chunks_back_at_once_and_keeps_the_phase,
    "chunk: processing → pending, restart": test_a_restart_hands_chunks_back,
    "chunk: retrying → pending": test_a_pause_while_a_chunk_is_retrying_makes_it_pending,
    "job: queued → running (validate)": test_a_job_goes_from_phase_to_phase_and_waits_for_a_person_before_each,
    "job: running → paused (process)": test_a_job_goes_from_phase_to_phase_and_waits_for_a_person_before_each,
    "job: paused → running (process)": test_a_job_goes_from_phase_to_phase_and_waits_for_a_person_before_each,
    "job: running → paused, phase unchanged": test_pause_hands_chunks_back_at_once_and_keeps_the_phase,
    "job: running → error": test_failed_chunks_are_an_error_and_are_retried_with_another_model,
    "job: error → queued": test_failed_chunks_are_an_error_and_are_retried_with_another_model,
    "job: running → paused (merge)": test_a_job_goes_from_phase_to_phase_and_waits_for_a_person_before_each,
    "job: paused → running (merge)": test_a_job_goes_from_phase_to_phase_and_waits_for_a_person_before_each,
    "job: running → done": test_a_job_goes_from_phase_to_phase_and_waits_for_a_person_before_each,
    "job: queued → cancelled": test_a_job_is_deleted_for_good_in_any_state,
    "job: paused → cancelled": test_a_job_is_deleted_for_good_in_any_state,
    "job: error → cancelled": test_a_job_is_deleted_for_good_in_any_state,
    "job: running → cancelled": test_a_running_job_is_cancelled_and_deleted,
}
"""The rows of the design's two diagrams, and the test that goes each of them."""
