"""Tasks and items have their application's words from submit to the end, even without its code."""

import pytest

import fanfold as ff
from fanfold.apps.pdf import pdf
from fanfold.engine.client import Client
from fanfold.model.item import Claimed
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.plan import Plan
from fanfold.model.progress import Counts
from fanfold.model.task import TaskRow
from fanfold.model.words import Facts, phase, state_word
from tests.installation import Installation

TASK_WORDS = {
    "pending": "queued", "splitting": "running", "processing": "running", "ready to merge": "running", "merging": "running",
    "retrying": "running", "waiting": "paused", "partial": "error", "failed": "error", "completed": "done",
}  # fmt: skip
ITEM_WORDS = {"running": "processing", "waiting": "processing", "failed": "error"}
STATES = [*TaskState]


def proofread() -> ff.Pipeline:
    """B1: the state of a job, its phase, and the states of its chunks."""
    made = ff.Pipeline("novel", words=ff.Vocabulary(task=TASK_WORDS, item=ITEM_WORDS))

    @made.split(phase="validate")
    def chunks(task: ff.TaskWork) -> list[ff.NewItem]:
        return [ff.NewItem(input=number) for number in range(2)]

    @made.each(phase="process", retry=ff.Retry(limit=0))
    def process(item: ff.ItemWork) -> int:
        if item.input == 1 and not item.options.get("mend"):
            raise ff.Permanent("not this one")
        return int(item.input)

    @made.merge(phase="merge")
    def bind(task: ff.TaskWork, results: ff.Results) -> int:
        return sum(result.output for result in results)

    return made


def test_a_job_goes_through_its_own_words(installation: Installation) -> None:
    pipeline = installation.know(proofread())
    stranger = Client(store=installation.store)
    task = stranger.submit(pipeline)

    def seen() -> tuple[str, str, str]:
        now = stranger.get(task.id)
        assert now.status == now.word
        return now.state, now.word, now.phase

    assert seen() == ("active", "queued", "validate")
    worker = installation.worker()
    [split] = worker.claim()
    assert seen() == ("active", "running", "validate")
    worker.settle(worker.call(*_claimed(installation, task, split)))
    assert seen() == ("active", "running", "process")
    assert [item.word for item in stranger.items(task.id)] == ["pending", "pending"]
    worker.claim()
    assert [(item.state, item.word) for item in stranger.items(task.id)] == [("running", "processing")] * 2
    assert stranger.item(task.id, "1").item.word == "processing"
    installation.sql("UPDATE items SET state = 'pending', worker = NULL WHERE state = 'running'")
    installation.work()
    assert seen() == ("partial", "error", "process")
    assert [item.word for item in stranger.items(task.id)] == ["done", "error"]
    stranger.retry(task.id, options={"mend": True})
    installation.work()
    assert seen() == ("completed", "done", "done")
    assert stranger.get(task.id).item_words == ITEM_WORDS


def _claimed(installation: Installation, task: ff.Task, claimed: Claimed) -> tuple[TaskRow, Claimed]:
    with installation.store.read() as tx:
        return tx.tasks.resolve(task.id), claimed


def every_word(plan: Plan) -> set[str]:
    """Every word that a task of this plan can have, but for a pause: all states, stages and states of items."""
    found = set()
    for state in STATES:
        for stage in plan.stages:
            for item in ItemState:
                if state not in (TaskState.PAUSED, TaskState.WAITING):
                    found.add(state_word(Facts(state, stage.name, plan, Counts({item: 1}))))
    return found


def test_a_converted_pdf_has_exactly_the_words_of_a1() -> None:
    plan = pdf.plan()
    assert every_word(plan) == {
        "pending", "splitting", "processing", "ready to merge", "merging", "completed", "failed", "cancelled",
        "partially failed",
    }  # fmt: skip
    words = dict(plan.item_words)
    assert {words.get(state, str(state)) for state in ItemState} == {
        "pending", "processing", "completed", "failed", "retrying",
    }  # fmt: skip


def test_a_proofread_text_has_exactly_the_words_of_b1() -> None:
    plan = proofread().plan()
    assert every_word(plan) == {"queued", "running", "done", "error", "cancelled"}
    assert state_word(Facts(TaskState.PAUSED, "process", plan, Counts())) == "paused"
    words = dict(plan.item_words)
    assert {words.get(state, str(state)) for state in ItemState} == {
        "pending", "processing", "retrying", "done", "error",
    }  # fmt: skip
    phases = [phase(Facts(TaskState.ACTIVE, stage.name, plan, Counts())) for stage in plan.stages]
    assert [*phases, phase(Facts(TaskState.COMPLETED, "bind", plan, Counts()))] == [
        "validate",
        "process",
        "merge",
        "done",
    ]


def test_a_plan_keeps_its_words_and_one_without_any_can_still_be_read() -> None:
    plan = proofread().plan()
    assert Plan.from_json(plan.to_json()) == plan
    older = '{"stages":[{"name":"a","kind":"step"}],"on_failed":false,"on_cancelled":false,"mirrored":false}'
    assert Plan.from_json(older).task_words == ()
    assert phase(Facts(TaskState.ACTIVE, "a", Plan.from_json(older), Counts())) == "a"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (ff.Vocabulary(task={"splitting": "cutting"}), "renames splitting, which is not a word of its tasks"),
        (ff.Vocabulary(item={"finished": "done"}), "renames finished, which is not a word of its items"),
        (ff.Vocabulary(task={"completed": " "}), "cannot be a word"),
    ],
)
def test_words_for_what_never_is_are_refused(words: ff.Vocabulary, said: str) -> None:
    pipeline = ff.Pipeline("p", words=words)
    pipeline.step(name="only")(lambda task: None)
    with pytest.raises(ff.BadPipeline, match=said):
        pipeline.plan()
