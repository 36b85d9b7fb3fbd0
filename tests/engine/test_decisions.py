"""Decisions about parts of results are stored as made, read with the results, and refused with a reason."""

import time
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from fanfold.engine.tasks.steering import decide as deciding
from fanfold.store.rows import removal
from tests.engine.pipelines import batch
from tests.engine.reviewing import Review, decided
from tests.installation import HandClock, Installation
from tests.rows import rows_counted


@pytest.fixture
def review(installation: Installation) -> Review:
    return Review(installation).finish()


def test_the_latest_decision_about_a_part_counts(review: Review, clock: HandClock) -> None:
    review.decide("a", "one", "accept")
    review.decide("a", "one", "replace", {"text": "new"})
    review.decide("a", "two", "reject")
    review.settle(clock)
    assert review.merged() == {"a": {"one": {"text": "new"}, "two": "reject"}}
    kept = review.client.decisions(review.task.id)
    assert [(one.number, one.part, one.verdict, one.value) for one in kept] == [
        (2, "one", "replace", {"text": "new"}),
        (3, "two", "reject", None),
    ]
    assert {(one.stage, one.item, one.actor, one.at) for one in kept} == {("read", "a", "person", kept[0].at)}


def test_a_decision_can_be_taken_back(review: Review, clock: HandClock) -> None:
    review.decide("a", "one", "reject")
    review.settle(clock)
    review.decide("a", "one", "undo", actor="ann")
    review.settle(clock)
    assert review.reads == [{"a": {"one": "reject"}}, {}]
    assert review.client.decisions(review.task.id) == []
    history = review.client.decisions(review.task.id, history=True)
    assert [(one.verdict, one.actor) for one in history] == [("reject", "person"), ("undo", "ann")]


def test_a_part_can_be_replaced_by_nothing(review: Review, clock: HandClock) -> None:
    review.decide("a", "one", "replace", None)
    review.settle(clock)
    assert review.merged() == {"a": {"one": None}}


def test_a_decision_that_says_the_same_again_changes_nothing(review: Review, clock: HandClock) -> None:
    review.decide("a", "one", "replace", "x")
    review.settle(clock)
    before = review.installation.rows()
    review.decide("a", "one", "replace", "x", actor="somebody else")
    review.decide("b", "never", "undo")
    assert review.installation.rows() == before
    review.settle(clock)
    assert review.calls == ["bind"]


def test_decisions_are_listed_page_by_page_and_filtered(review: Review) -> None:
    wanted = [ff.NewDecision("abc"[n % 3], f"part-{n}", "accept" if n % 2 else "reject") for n in range(10)]
    review.client.decide_many(review.task.id, wanted)
    found: list[int] = []
    while page := review.client.decisions(review.task.id, after=found[-1] if found else 0, limit=3):
        found += [one.number for one in page]
    assert found == list(range(1, 11))
    assert [one.number for one in review.client.decisions(review.task.id, item="b")] == [2, 5, 8]
    assert [one.number for one in review.client.decisions(review.task.id, verdict="reject", item="a")] == [1, 7]
    assert [one.number for one in review.client.decisions(review.task.id, part="part-4", stage="read")] == [5]
    assert review.client.decisions(review.task.id, item="a\0") == []
    assert review.client.decisions(review.task.id, after=10**30) == []


def test_results_of_a_task_that_ends_with_its_items_have_their_decisions(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    installation.work()
    installation.client.decide(task.id, "2", "word", "replace", "c")
    assert decided(installation.client.results(task.id)) == {"2": {"word": "c"}}
    assert installation.client.get(task.id).state == "completed"


def fail() -> None:
    raise ff.Permanent("no ink")


EARLIER = {"a": {"one": "reject"}}


@pytest.mark.parametrize("then", ["nothing", "pause", "cancel", "fail", "retry"])
def test_the_result_from_before_a_decision_is_there_until_there_is_a_new_one(
    review: Review, clock: HandClock, then: str
) -> None:
    review.decide("a", "one", "reject")
    review.settle(clock)
    assert review.merged() == EARLIER
    review.decide("a", "two", "reject")
    if then in ("pause", "cancel"):
        getattr(review.client, then)(review.task.id)
    elif then == "fail":
        review.while_merging = fail
        review.settle(clock)
        assert review.state()[0] == "failed"
    elif then == "retry":
        review.client.retry(review.task.id, ["b"])
    with pytest.raises(ff.TaskStopped, match=r"has no result.*For its earlier result: fanfold result .* --earlier"):
        review.merged()
    assert review.client.result(review.task.id, earlier=True) == EARLIER


def test_a_task_that_has_never_merged_has_no_earlier_result(installation: Installation) -> None:
    review = Review(installation)
    with pytest.raises(ff.TaskStopped, match="has no result") as caught:
        review.client.result(review.task.id, earlier=True)
    assert "--earlier" not in str(caught.value)


NONSENSE: list[tuple[tuple[Any, ...], type[Exception], str]] = [
    (("t-nothere", "a", "one", "accept"), ff.NotFound, "There is no task t-nothere"),
    (("ID", "z", "one", "accept"), ff.NotFound, "has no item z in read. To see them: fanfold items"),
    (("ID", "a", "one", "maybe"), ff.BadInput, "Unknown verdict 'maybe'. Use one of: accept, reject, replace, undo"),
    (("ID", "a", "one", None), ff.BadInput, "Unknown verdict"),
    (("ID", "a", "", "accept"), ff.BadInput, "The key of a part must have 1 to 200 characters; it has 0"),
    (("ID", "a", "x" * 201, "accept"), ff.BadInput, "The key of a part must have 1 to 200 characters; it has 201"),
    (("ID", "a", "o\0ne", "accept"), ff.BadInput, "The key of a part contains a NUL character"),
    (("ID", "a\ud800", "one", "accept"), ff.BadInput, "The key of an item contains half a surrogate pair"),
    (("ID", 1, "one", "accept"), ff.BadInput, "The key of an item must be text, not 1"),
    (("ID", "a", "one", "accept", "value"), ff.BadInput, "A value is only for replace, not for accept"),
    (("ID", "a", "one", "replace", float("nan")), ff.BadInput, "contains NaN or infinity"),
    (("ID", "a", "one", "replace", "a\0b"), ff.BadInput, "contains a NUL character"),
    (("ID", "a", "one", "replace", ["\ud800"]), ff.BadInput, "contains half a surrogate pair"),
    (("ID", "a", "one", "replace", object()), ff.BadInput, "cannot be stored as JSON"),
    (
        ("ID", "a", "one", "replace", "x" * 1_100_000),
        ff.BadInput,
        "is 1.1 MB; the limit is 1 MB. Decide about smaller parts",
    ),
    (("ID", "a", "one", "replace", {"$file": {"key": "k", "name": "n", "size": 1}}), ff.BadInput, "contains a file"),
]


@pytest.mark.parametrize(("words", "error", "said"), NONSENSE, ids=range(len(NONSENSE)))
def test_what_cannot_be_decided_is_refused_and_changes_nothing(
    review: Review, words: tuple[Any, ...], error: type[Exception], said: str
) -> None:
    before = review.installation.rows()
    with pytest.raises(error) as refused:
        review.client.decide(*(review.task.id if word == "ID" else word for word in words))
    assert said in str(refused.value)
    assert review.installation.rows() == before


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"item": "a", "part": "p"}, "A decision lacks verdict"),
        ({"item": "a", "part": "p", "verdict": "accept", "colour": 1}, "A decision has the unknown field colour"),
        ("accept", "is not a decision: it has none of the fields item, part, verdict, value, stage"),
        ({"item": "a", "part": "p", "verdict": "accept", "stage": "bind"}, "bind has no items with results"),
        ({"item": "a", "part": "p", "verdict": "accept", "stage": "nope"}, "There is no stage 'nope'"),
        ({"item": "zz", "part": "p", "verdict": "accept"}, "has no item zz"),
    ],
)
def test_one_bad_decision_of_many_keeps_all_from_being_kept(
    review: Review, monkeypatch: pytest.MonkeyPatch, bad: Any, said: str
) -> None:
    monkeypatch.setattr(deciding, "AT_ONCE", 2)
    before = review.installation.rows()
    good = [{"item": "a", "part": f"p{n}", "verdict": "accept"} for n in range(5)]
    with pytest.raises(ff.FanfoldError) as refused:
        review.client.decide_many(review.task.id, [*good, bad])
    assert said in str(refused.value)
    assert review.installation.rows() == before


def test_a_task_without_items_has_nothing_to_decide_about(installation: Installation) -> None:
    pipeline = ff.Pipeline("plain")
    pipeline.step(name="only")(lambda task: "done")
    task = installation.client.submit(installation.know(pipeline))
    with pytest.raises(ff.BadInput, match="has no stage with many items"):
        installation.client.decide(task.id, "1", "p", "accept")


def test_an_owner_decides_only_about_tasks_of_their_own(review: Review) -> None:
    stranger = Client(store=review.installation.store, owner="mallory")
    with pytest.raises(ff.NotFound):
        stranger.decide(review.task.id, "a", "one", "accept")
    with pytest.raises(ff.NotFound):
        stranger.decisions(review.task.id)
    assert review.client.decisions(review.task.id) == []


def test_the_actor_of_a_decision_is_checked(review: Review) -> None:
    with pytest.raises(ff.BadInput, match="The actor"):
        review.decide("a", actor="")


def test_decisions_outlive_a_redo_that_yields_the_same_part(review: Review, clock: HandClock) -> None:
    text = review.client.output(review.task.id, "b")
    review.decide("b", ff.part_key(text), "reject")
    review.settle(clock)
    review.client.retry(review.task.id, ["b"])
    review.installation.work()
    assert ff.part_key(review.client.output(review.task.id, "b")) in review.merged()["b"]
    review.client.rerun(review.task.id)
    review.installation.work()
    assert review.merged() == {"b": {ff.part_key("text b"): "reject"}}


def test_decisions_are_removed_with_their_task_in_short_transactions(
    review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [ff.NewDecision("a", f"part-{n}", "accept") for n in range(100)]
    review.client.decide_many(review.task.id, wanted)
    review.client.pause(review.task.id)
    monkeypatch.setattr(removal, "CHUNK", 20)
    with rows_counted(review.installation.store) as meter:
        review.client.delete(review.task.id)
    assert meter.most <= 25, meter.written
    assert review.installation.rows()["decisions"] == []


def test_decisions_are_read_with_the_pages_of_results_and_not_one_by_one(installation: Installation) -> None:
    review = Review(installation, keys=[f"k{n}" for n in range(60)]).finish()
    review.client.decide_many(review.task.id, [ff.NewDecision(f"k{n}", "p", "accept") for n in range(0, 60, 2)])
    with installation.statements() as sent:
        assert len(decided(review.client.results(review.task.id))) == 30
    assert sum("decisions" in statement for statement in sent) <= 3


def test_decisions_cost_no_more_when_there_are_many(installation: Installation) -> None:
    """Ten times as many take about ten times as long, to be kept and to be read, and not a hundred times."""
    taken: list[tuple[float, float]] = []
    for many in (300, 3_000):
        review = Review(installation, keys=[f"k{n}" for n in range(200)]).finish()
        wanted = [ff.NewDecision(f"k{n % 200}", f"part-{n}", "replace", n) for n in range(many)]
        began = time.perf_counter()
        review.client.decide_many(review.task.id, wanted)
        kept = time.perf_counter()
        read = decided(review.client.results(review.task.id))
        taken.append((kept - began, time.perf_counter() - kept))
        assert sum(map(len, read.values())) == many
        review.client.delete(review.client.pause(review.task.id).id)
    (keep_few, read_few), (keep_many, read_many) = taken
    assert keep_many < 40 * max(keep_few, 0.02), taken
    assert read_many < 40 * max(read_few, 0.02), taken


def test_the_key_of_a_part_is_made_from_what_it_says() -> None:
    assert ff.part_key("teh", "the") == ff.part_key("teh", "the") == "253573c7a794ec55027b"
    assert ff.part_key("teh", "the") != ff.part_key("the", "teh")
    assert ff.part_key({"a": 1, "b": [2]}) == ff.part_key({"b": (2,), "a": 1})
    assert len(ff.part_key("x")) == 20
    with pytest.raises(ff.BadInput):
        ff.part_key(object())


def test_parts_that_say_the_same_get_keys_of_their_own() -> None:
    keys = ff.part_keys(["a", "b", "a", "a"])
    assert len(set(keys)) == 4
    assert keys[:2] == [ff.part_key("a"), ff.part_key("b")]
    assert keys[2:] == [f"{keys[0]}-2", f"{keys[0]}-3"]


def test_an_event_says_how_many_decisions_were_made_about_how_many_items(review: Review) -> None:
    review.client.decide_many(
        review.task.id,
        [
            ff.NewDecision("a", "one", "accept"),
            ff.NewDecision("a", "two", "reject"),
            ff.NewDecision("b", "one", "accept"),
        ],
    )
    [event] = [one for one in review.client.events(review.task.id) if one.verb == "decide"]
    assert event.reason == "3 decisions about 2 items: a, b"


def test_decisions_that_no_merge_reads_are_refused(installation: Installation) -> None:
    pipeline = ff.Pipeline("two-phases")
    pipeline.split(name="cut")(lambda task: [ff.NewItem("a", 1)])
    pipeline.each(name="first")(lambda item: 1)
    pipeline.each(name="second")(lambda item: 2)
    pipeline.merge(name="bind")(lambda task, results: len(list(results)))
    task = installation.client.submit(installation.know(pipeline))
    installation.work()
    before = installation.rows()
    with pytest.raises(ff.BadInput, match=r"No merge reads decisions about first\. They can be about second\."):
        installation.client.decide(task.id, "a", "word", "accept", stage="first")
    assert installation.rows() == before
    assert installation.client.decide(task.id, "a", "word", "accept", stage="second").state == "active"
