"""`merge` continues from the task's stage without failed items, and uses only current results."""

from collections import Counter
from typing import Any

import pytest

import fanfold as ff
from tests.installation import HandClock, Installation


class Book:
    """Two phases, the first with two stages of items; every call is counted, and breaks when it is told to."""

    def __init__(self, installation: Installation, *, phases: int = 2) -> None:
        self.installation = installation
        self.client = installation.client
        self.calls: Counter[str] = Counter()
        self.broken: set[str] = set()
        made = ff.Pipeline("two_phases" if phases == 2 else "one_phase")
        rules: dict[str, Any] = {"retry": ff.Retry(limit=0)}
        made.split(name="cut")(self.cut)
        made.each(name="a", **rules)(self.work)
        made.each(name="b", **rules)(self.work)
        made.merge(name="bind")(self.bind)
        if phases == 2:
            made.split(name="recut")(self.recut)
            made.each(name="c", **rules)(self.work)
            made.merge(name="rebind")(self.bind)
        installation.know(made)
        self.task = self.client.submit(made)

    def cut(self, task: Any) -> Any:
        self.calls["cut"] += 1
        yield from (ff.NewItem(key, key) for key in "vwxyz")

    def recut(self, task: Any) -> Any:
        self.calls["recut"] += 1
        yield from (ff.NewItem(text[0], text) for text in task.previous["got"])

    def work(self, item: Any) -> str:
        name = f"{item._claimed.stage}/{item.key}"
        self.calls[name] += 1
        if name in self.broken:
            raise ff.Permanent("broken")
        return f"{item.input}{item.options.get('with', '')}{item._claimed.stage}"

    def bind(self, task: Any, results: Any) -> Any:
        self.calls[task._claimed.stage] += 1
        return {"got": [result.output for result in results], "gaps": [gap.key for gap in results.missing()]}

    def now(self) -> tuple[str, str, int]:
        task = self.client.get(self.task.id)
        return task.state, task.stage, task.missing

    def run(self) -> tuple[str, str, int]:
        self.installation.work()
        return self.now()

    def merge(self) -> tuple[str, str, int]:
        self.client.merge(self.task.id)
        return self.run()

    def got(self) -> list[str]:
        got: list[str] = self.client.result(self.task.id)["got"]
        return got

    def gaps(self) -> list[tuple[str, str | None]]:
        return [(gap.key, gap.error_message) for gap in self.client.missing(self.task.id)]


@pytest.fixture
def book(installation: Installation) -> Book:
    return Book(installation, phases=1)


@pytest.fixture
def long_book(installation: Installation) -> Book:
    return Book(installation)


def test_merge_goes_on_to_the_next_stage_without_what_failed(book: Book) -> None:
    book.broken = {"a/x"}
    assert book.run() == ("partial", "a", 0)
    assert "merge" in book.client.get(book.task.id).available_commands
    book.client.merge(book.task.id)
    assert book.now() == ("active", "b", 1)
    assert book.run() == ("completed", "bind", 1)
    assert book.got() == ["vab", "wab", "yab", "zab"]
    assert book.gaps() == [("x", "broken")]
    assert max(book.calls.values()) == 1


def test_merge_in_the_second_phase_repeats_nothing_of_the_first(long_book: Book) -> None:
    long_book.broken = {"c/x"}
    assert long_book.run() == ("partial", "c", 0)
    assert long_book.merge() == ("completed", "rebind", 1)
    assert long_book.got() == ["vabc", "wabc", "yabc", "zabc"]
    assert max(long_book.calls.values()) == 1, "nothing was done twice"


def test_merge_in_the_first_phase_goes_on_to_the_second(long_book: Book) -> None:
    long_book.broken = {"b/x"}
    assert long_book.run() == ("partial", "b", 0)
    assert long_book.merge() == ("completed", "rebind", 1)
    assert long_book.got() == ["vabc", "wabc", "yabc", "zabc"]
    assert max(long_book.calls.values()) == 1


def test_an_item_that_failed_early_is_missing_once(book: Book) -> None:
    book.broken = {"a/x", "b/y"}
    assert book.run() == ("partial", "a", 0)
    assert book.merge() == ("partial", "b", 1)
    assert book.client.get(book.task.id).wait_reason == "1 failed: retry it, or merge without it"
    assert book.merge() == ("completed", "bind", 2)
    assert book.got() == ["vab", "wab", "zab"]
    assert sorted(book.gaps()) == [("x", "broken"), ("y", "broken")]
    assert max(book.calls.values()) == 1


def test_a_merge_is_told_of_all_that_is_missing_wherever_it_failed(book: Book) -> None:
    book.broken = {"a/x", "b/v", "b/y"}
    book.run()
    book.merge()
    assert book.merge() == ("completed", "bind", 3)
    assert book.client.result(book.task.id) == {"got": ["wab", "zab"], "gaps": ["v", "x", "y"]}
    results = book.client.results(book.task.id)
    assert [(one.key, one.ok, one.error_message) for one in results.all()] == [
        ("v", False, "broken"), ("w", True, None), ("x", False, "broken"), ("y", False, "broken"), ("z", True, None),
    ]  # fmt: skip
    assert [one.key for one in book.client.results(book.task.id, "a").missing()] == ["x"]


def test_a_merge_is_told_that_a_result_was_made_from_a_degraded_one(installation: Installation) -> None:
    made = ff.Pipeline("degraded-early")

    @made.each
    def a(item: Any) -> Any:
        if item.input in ("both", "early"):
            item.degraded("simple way")
        return item.input

    @made.each
    def b(item: Any) -> Any:
        if item.input in ("both", "late"):
            item.degraded("no model")
        return item.input

    @made.merge
    def bind(task: Any, results: Any) -> Any:
        return {result.key: result.degraded for result in results}

    keys = ("fine", "both", "early", "late")
    task = installation.client.submit(installation.know(made), items=[ff.NewItem(key, key) for key in keys])
    installation.completed(task)
    assert installation.client.result(task.id) == {
        "fine": None, "both": "simple way; no model", "early": "simple way", "late": "no model",
    }  # fmt: skip


def test_a_stage_that_was_passed_stays_passed_when_an_earlier_failure_is_made_good(book: Book) -> None:
    book.broken = {"a/x", "b/y"}
    book.run()
    book.merge()
    book.merge()
    book.broken = {"b/y"}
    book.client.retry(book.task.id, ["x"], stage="a")
    assert book.run() == ("completed", "bind", 1)
    assert book.got() == ["vab", "wab", "xab", "zab"]
    assert (book.calls["a/x"], book.calls["b/x"], book.calls["b/y"], book.calls["a/v"]) == (2, 1, 1, 1)


def test_a_stage_that_was_passed_stays_passed_when_its_failure_fails_again(book: Book) -> None:
    book.broken = {"a/x"}
    book.run()
    book.merge()
    book.client.retry(book.task.id)
    assert book.run() == ("completed", "bind", 1)
    assert (book.calls["a/x"], book.calls["b/v"], book.calls["bind"]) == (2, 1, 2)


def test_a_failure_that_nobody_passed_stops_the_task_again(book: Book, clock: HandClock) -> None:
    book.broken = {"a/x"}
    book.run()
    book.merge()
    clock.advance(1)
    book.broken = {"a/x", "a/y"}
    book.client.retry(book.task.id, ["y"], stage="a")
    assert book.run() == ("partial", "a", 1)
    assert book.merge() == ("completed", "bind", 2)
    assert book.got() == ["vab", "wab", "zab"]


def test_a_failure_that_was_made_good_is_no_excuse_for_another(book: Book, clock: HandClock) -> None:
    book.broken = {"a/x"}
    book.run()
    book.merge()
    book.broken = set()
    book.client.retry(book.task.id)
    assert book.run() == ("completed", "bind", 0)
    clock.advance(1)
    book.broken = {"a/y"}
    book.client.retry(book.task.id, ["y"], stage="a")
    assert book.run()[:2] == ("partial", "a")


def test_a_later_stage_with_failures_is_not_passed_by_a_retry_before_it(book: Book) -> None:
    """The task was partial in `b`; repairing `a` must not carry it past the failures in `b`."""
    book.broken = {"a/x", "b/y"}
    book.run()
    book.merge()
    book.client.retry(book.task.id, ["x"], stage="a")
    assert book.run()[:2] == ("partial", "b")
    assert book.calls["bind"] == 0


def test_retry_of_a_partial_task_redoes_what_failed_where_it_stands(book: Book) -> None:
    book.broken = {"a/x", "b/y"}
    book.run()
    book.merge()
    book.broken = {"a/x"}
    book.client.retry(book.task.id)
    assert book.run() == ("completed", "bind", 1)
    assert (book.calls["a/x"], book.calls["b/y"]) == (1, 2)


def test_a_stale_result_is_not_delivered_when_its_redo_fails(book: Book, clock: HandClock) -> None:
    book.run()
    assert book.got() == ["vab", "wab", "xab", "yab", "zab"]
    clock.advance(1)
    book.broken = {"a/x"}
    book.client.retry(book.task.id, ["x"], stage="a")
    assert [result.key for result in book.client.results(book.task.id)] == ["v", "w", "y", "z"], "while it is redone"
    assert book.run()[:2] == ("partial", "a")
    assert [result.key for result in book.client.results(book.task.id)] == ["v", "w", "y", "z"]
    with pytest.raises(ff.NotFound, match=r"x of task .* is pending and has no output"):
        book.client.output(book.task.id, "x", "b")
    assert book.gaps() == [("x", "broken")]
    states = {stage.name: stage.counts for stage in book.client.get(book.task.id).stages}
    assert states["b"] == {"done": 4, "pending": 1}
    assert book.merge() == ("completed", "bind", 1)
    assert book.got() == ["vab", "wab", "yab", "zab"]
    assert book.gaps() == [("x", "broken")]
    assert book.calls["b/x"] == 1


def test_a_result_made_again_after_a_failed_redo_has_a_key_of_its_own(book: Book, clock: HandClock) -> None:
    book.run()
    book.client.retry(book.task.id, ["x"], stage="b")
    book.run()
    clock.advance(1)
    book.broken = {"a/x"}
    book.client.retry(book.task.id, ["x"], stage="a")
    book.run()
    book.merge()
    book.broken = set()
    book.client.retry(book.task.id, ["x"], stage="a")
    worker = book.installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    [again] = worker.claim()
    assert (again.stage, again.key) == ("b", "x")
    assert again.generation > 1, "0 and 1 were used before"


def test_merge_on_a_completed_task_repeats_only_the_last_merge(long_book: Book) -> None:
    long_book.run()
    assert long_book.merge() == ("completed", "rebind", 0)
    assert long_book.calls.pop("rebind") == 2
    assert max(long_book.calls.values()) == 1


def test_merge_does_not_split_a_completed_task_again(installation: Installation) -> None:
    made = ff.Pipeline("ends_with_items")
    made.split(name="cut")(lambda task: [1])
    made.each(name="a")(lambda item: item.input)
    made.merge(name="bind")(lambda task, results: [result.output for result in results])
    made.split(name="recut")(lambda task: task.previous)
    made.each(name="c", retry=ff.Retry(limit=0))(lambda item: item.input)
    task = installation.client.submit(installation.know(made))
    installation.work()
    assert "merge" not in installation.client.get(task.id).available_commands
    with pytest.raises(ff.IllegalMove, match="recut follows its last merge and would run again"):
        installation.client.merge(task.id)


def test_merge_needs_a_merge_ahead(installation: Installation) -> None:
    made = ff.Pipeline("no_merge_ahead")
    made.split(name="cut")(lambda task: [1])
    made.each(name="a")(lambda item: item.input)
    made.merge(name="bind")(lambda task, results: [1, 0])
    made.split(name="recut")(lambda task: task.previous)
    made.each(name="c", retry=ff.Retry(limit=0))(lambda item: 1 / item.input)
    task = installation.client.submit(installation.know(made))
    installation.work()
    now = installation.client.get(task.id)
    assert (now.state, now.stage, now.wait_reason) == ("partial", "c", "1 failed: retry it")
    with pytest.raises(ff.IllegalMove, match="no merge follows c"):
        installation.client.merge(task.id)


def test_a_gate_between_holds_a_merge_until_a_person_resumes(installation: Installation) -> None:
    made = ff.Pipeline("gated")
    made.split(name="cut")(lambda task: [1, 0])
    made.each(name="a", retry=ff.Retry(limit=0))(lambda item: 1 / item.input)
    made.each(name="b", gate=True)(lambda item: item.input)
    made.merge(name="bind", gate=True)(lambda task, results: [result.output for result in results])
    task = installation.client.submit(installation.know(made))
    installation.work()
    assert installation.client.merge(task.id).status == "waiting"
    with pytest.raises(ff.IllegalMove, match="it waits before b, which is not a merge"):
        installation.client.merge(task.id)
    installation.client.resume(task.id)
    installation.work()
    assert (installation.client.get(task.id).state, installation.client.get(task.id).stage) == ("waiting", "bind")
    installation.client.merge(task.id)
    assert installation.completed(task) == [1.0]
