"""An invalid pipeline is refused at its definition, with the reason."""

from collections.abc import Callable
from typing import Any

import pytest

import fanfold as ff
from fanfold.errors import BadInput, BadPipeline
from fanfold.model.pipelines.alone import Alone
from fanfold.model.pipelines.pipeline import Pipeline, TaskFunction, as_pipeline, by_name, task
from fanfold.model.plan import Kind
from fanfold.model.retry import Retry


def work(_work: Any) -> None:
    """A handler."""


async def work_in_loop(_work: Any) -> None:
    """A handler."""


def bind(_task: Any, _results: Any) -> None:
    """A merge."""


def test_stages_run_in_the_order_of_their_definition() -> None:
    book = Pipeline("book")
    book.split(name="b")(work)
    book.each(name="c")(work)
    book.merge(name="a")(bind)
    assert [stage.name for stage in book.plan().stages] == ["b", "c", "a"]
    assert repr(book) == "Pipeline('book': b → c → a)"


def test_a_decorated_handler_stays_what_it_was() -> None:
    book = Pipeline("book")
    assert book.step(work) is work
    assert book.each(name="x")(work) is work


def test_a_stage_is_named_after_its_handler() -> None:
    book = Pipeline("book")
    book.step(work)
    assert list(book.stages) == ["work"]


def test_the_default_weights_put_items_between_five_and_ninety_five_percent() -> None:
    book = Pipeline("book")
    book.split(name="a")(work)
    book.each(name="b")(work)
    book.merge(name="c")(bind)
    assert [stage.weight for stage in book.plan().stages] == [5, 90, 5]


@pytest.mark.parametrize("name", ["", "1st", "with space", "a" * 64, "a/b", "ü", "a.b"])
def test_a_bad_name_of_a_pipeline_is_refused(name: str) -> None:
    with pytest.raises(BadPipeline, match="cannot name a pipeline"):
        Pipeline(name)


@pytest.mark.parametrize("name", ["1st", "with space", "a" * 64, "a.b"])
def test_a_bad_name_of_a_stage_is_refused(name: str) -> None:
    with pytest.raises(BadPipeline, match="cannot name a stage"):
        Pipeline("p").step(name=name)(work)


def test_a_handler_without_a_name_needs_one() -> None:
    with pytest.raises(BadPipeline, match="cannot name a stage"):
        Pipeline("p").step(lambda task: None)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"retries": 3}, "unknown rules.*retries.*there are.*retry"),
        ({"timeout": 0}, "timeout=0; it must be more than 0"),
        ({"timeout": -1}, "must be more than 0"),
        ({"concurrency": 0}, "concurrency=0"),
        ({"limit": -2}, "limit=-2"),
        ({"wait_limit": 0}, "wait_limit=0"),
        ({"tolerate": -0.1}, "tolerate=-0.1"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(rules: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadPipeline, match=reason):
        Pipeline("p").each(**rules)(work)


def test_an_isolated_handler_must_be_found_by_another_process() -> None:
    def local(_work: Any) -> None:
        """Nobody else can import this."""

    with pytest.raises(BadPipeline, match="must be a function of a module"):
        Pipeline("p").step(isolate=True)(local)


@pytest.mark.parametrize("name", ["work", "on_failed", "on_cancelled"])
def test_a_name_is_given_once(name: str) -> None:
    book = Pipeline("p")
    book.step(work)
    with pytest.raises(BadPipeline, match=f"already has a stage '{name}'"):
        book.step(name=name)(work)


@pytest.mark.parametrize("register", ["on_failed", "on_cancelled", "on_move"])
def test_a_compensation_and_a_mirror_are_given_once(register: str) -> None:
    book = Pipeline("p")
    handler = bind if register == "on_move" else work
    getattr(book, register)(handler)
    with pytest.raises(BadPipeline, match="already"):
        getattr(book, register)(handler)


def no_stages(_book: Pipeline) -> None:
    """Nothing is defined."""


def split_last(book: Pipeline) -> None:
    book.split(work)


def split_then_step(book: Pipeline) -> None:
    book.split(work)
    book.step(name="x")(work)


def each_after_step(book: Pipeline) -> None:
    book.step(work)
    book.each(name="x")(work)


def merge_of_nothing(book: Pipeline) -> None:
    book.step(work)
    book.merge(bind)


def merge_before_each(book: Pipeline) -> None:
    book.merge(bind)
    book.split(work)
    book.each(name="x")(work)


@pytest.mark.parametrize(
    ("define", "reason"),
    [
        (no_stages, "has no stages"),
        (split_last, "splits, so an `each` stage must follow"),
        (split_then_step, "splits, so an `each` stage must follow"),
        (each_after_step, "a split, another each or nothing comes before"),
        (merge_of_nothing, "has no `each` stage before it"),
        (merge_before_each, "has no `each` stage before it"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(define: Callable[[Pipeline], None], reason: str) -> None:
    book = Pipeline("book")
    define(book)
    with pytest.raises(BadPipeline, match=reason):
        book.plan()


def test_compensations_and_mirror_are_part_of_the_plan() -> None:
    book = Pipeline("p")
    book.step(work)
    plain = book.plan()
    assert [plain.on_failed, plain.on_cancelled, plain.mirrored] == [False, False, False]
    book.on_failed(work)
    book.on_cancelled(work)
    book.on_move(bind)
    assert book.plan().on_failed
    assert book.plan().on_cancelled
    assert book.plan().mirrored
    assert [stage.name for stage in book.all_stages()] == ["work", "on_failed", "on_cancelled"]
    assert book.find("on_failed") is not None
    assert book.find("elsewhere") is None


def test_how_a_stage_runs_is_not_part_of_the_plan() -> None:
    book = Pipeline("p")
    book.each(concurrency=3, retry=Retry(limit=9), timeout=7, limit=2, wait_limit=5)(work)
    stage = book.stages["work"]
    assert (stage.concurrency, stage.retry.limit, stage.timeout, stage.limit, stage.wait_limit) == (3, 9, 7, 2, 5)
    assert "concurrency" not in book.plan().to_json()


def test_a_handler_knows_its_colour() -> None:
    book = Pipeline("p")
    book.step(work)
    book.step(work_in_loop)
    assert not book.stages["work"].runs_in_loop
    assert book.stages["work_in_loop"].runs_in_loop


def test_a_function_becomes_a_pipeline_of_one_step_and_stays_callable() -> None:
    @task
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    assert isinstance(add, TaskFunction)
    assert add(1, b=2) == 3
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    assert [(stage.name, stage.kind) for stage in add.pipeline.plan().stages] == [("add", Kind.STEP)]


def test_a_function_takes_the_rules_of_a_stage() -> None:
    @task(name="sum", retry=Retry(limit=1), timeout=5)
    def add(a: int) -> int:
        return a

    assert add.pipeline.name == "sum"
    assert add.pipeline.stages["add"].timeout == 5


@pytest.mark.parametrize("wrong", [None, 5, "book", work])
def test_what_is_not_a_pipeline_is_refused(wrong: Any) -> None:
    with pytest.raises(BadPipeline, match="is not a pipeline"):
        as_pipeline(wrong)


def test_two_pipelines_of_one_name_are_refused_with_where_they_come_from() -> None:
    def one() -> Pipeline:
        made = Pipeline("book")
        made.step(name="only")(lambda task: 1)
        return made

    first, second = one(), one()
    assert by_name([first, first]) == {"book": first}
    with pytest.raises(BadPipeline, match=r"Two pipelines are named book: one from .*test_pipeline\.py:\d+, one from"):
        by_name([first, second])
    with pytest.raises(BadPipeline, match="it has no stages"):
        by_name([first, Pipeline("book")])


def test_a_function_that_wants_the_task_works_as_a_plain_function() -> None:
    def transcoded(task: Any, source: str, quality: int = 5) -> Any:
        task.progress(0.5, "half")
        task.emit("a piece")
        task.used(cost=1)
        task.degraded("not really")
        task.check()
        task.remember(job=7)
        return [source, quality, task.attempt, task.memory]

    transcode: TaskFunction[..., Any] = task(transcoded)
    assert transcode("a.mov") == ["a.mov", 5, 1, {"job": 7}]
    assert transcode("a.mov", quality=1)[1] == 1
    assert transcode(source="b.mov")[0] == "b.mov"
    assert transcode(Alone({}), "c.mov")[0] == "c.mov"
    assert transcode(task=Alone({}), source="d.mov")[0] == "d.mov"


def test_what_a_plain_call_cannot_do_is_said() -> None:
    def kept(task: Any) -> Any:
        return task.write("a.txt", "text")

    keep: TaskFunction[..., Any] = task(kept)
    with pytest.raises(BadInput, match=r"task\.write needs a stored task"):
        keep()


def two(_first: Any, _second: Any) -> None:
    """Takes too much for most stages."""


def none() -> None:
    """Takes too little for all of them."""


@pytest.mark.parametrize("kind", ["split", "each", "step", "on_failed", "on_cancelled"])
@pytest.mark.parametrize("handler", [two, none])
def test_a_handler_that_cannot_be_called_is_refused_where_it_is_defined(kind: str, handler: Any) -> None:
    argument = "item" if kind == "each" else "task"
    with pytest.raises(
        BadPipeline, match=rf"it is called with the {argument}\. Write it as {handler.__name__}\({argument}\)"
    ):
        getattr(Pipeline("book"), kind)(handler)


@pytest.mark.parametrize("handler", [work, none])
def test_a_merge_or_mirror_that_cannot_be_called_is_refused(handler: Any) -> None:
    with pytest.raises(BadPipeline, match="it is called with the task and the results"):
        Pipeline("book").merge(handler)
    with pytest.raises(BadPipeline, match="it is called with the connection and the change"):
        Pipeline("book").on_move(handler)


def test_a_handler_may_have_parameters_of_its_own_with_defaults() -> None:
    def convert(_item: Any, *, factor: int = 2) -> int:
        return factor

    assert Pipeline("book").each(convert) is convert


@pytest.mark.parametrize("wrong", [lambda: None, lambda work, other: None, lambda *, work: None])
def test_a_form_or_an_action_that_cannot_be_called_with_its_work_is_refused(wrong: Any) -> None:
    pipeline = ff.Pipeline("p")
    with pytest.raises(ff.BadPipeline, match="The action x is called with its work alone"):
        pipeline.action("x")(wrong)
    with pytest.raises(ff.BadPipeline, match="The form x is called with its work alone"):
        pipeline.form("x", media_type="text/plain")(wrong)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"pipelines": "brk.p:p"}, "The pipelines of brk must be a tuple"),
        ({"commands": ff.AppCommand("x", "a:b", help="")}, "The commands of brk must be a tuple"),
        ({"commands": ("x",)}, "'x', which is not an ff.AppCommand"),
        ({"pipelines": (5,)}, "The pipeline of brk is given as '5'"),
    ],
)
def test_an_application_with_parts_of_the_wrong_type_is_refused(parts: dict[str, Any], told: str) -> None:
    with pytest.raises(ff.BadPipeline) as caught:
        ff.Application("brk", title="Brk", **parts)
    assert told in str(caught.value)
