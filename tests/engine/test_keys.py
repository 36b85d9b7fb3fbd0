"""An idempotency key identifies one piece of work: the same work finds its task, other work is refused."""

import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.errors import FanfoldError
from fanfold.store.rows.tasks import Tasks
from tests.engine.pipelines import batch, one_step
from tests.installation import Installation


def read_all(task: Any) -> list[Any]:
    """The content of all inputs."""
    return [given.read_text() if isinstance(given, ff.File) else given for given in task.inputs]


def refused(act: Callable[[], Any]) -> str:
    """Why a submission is refused, which must be for its key."""
    with pytest.raises(FanfoldError) as caught:
        act()
    assert caught.value.code == "key_reused"
    return str(caught.value)


def test_the_same_items_under_a_key_give_the_same_task(installation: Installation) -> None:
    first = installation.client.submit(batch(), items=[1, ff.NewItem("b", {"x": [1, 2]})], key="k")
    before = installation.rows()
    items = (item for item in [1, ff.NewItem("b", {"x": [1, 2]})])
    again = installation.client.submit(batch(), items=items, key="k", title="other", tags=["t"], priority=3)
    assert again.id == first.id
    assert installation.rows() == before


def test_the_order_of_names_in_an_item_makes_no_other_work(installation: Installation) -> None:
    first = installation.client.submit(
        batch(), items=[{"a": 1, "b": {"c": 2, "d": 3}}], key="k", options={"x": 1, "y": 2}
    )
    items = [{"b": {"d": 3, "c": 2}, "a": 1}]
    assert installation.client.submit(batch(), items=items, key="k", options={"y": 2, "x": 1}).id == first.id


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([1], id="fewer"),
        pytest.param([1, 2, 3], id="more"),
        pytest.param([2, 1], id="in another order"),
        pytest.param([1, ff.NewItem("2", 2)], id="with a key"),
        pytest.param([1, "x" * 2_000_000], id="large"),
    ],
)
def test_other_items_under_a_key_are_refused(installation: Installation, items: list[Any]) -> None:
    task = installation.client.submit(batch(), items=[1, 2], key="k")
    before = installation.rows()
    reason = refused(lambda: installation.client.submit(batch(), items=iter(items), key="k"))
    assert task.id in reason
    assert "new key" in reason
    assert installation.rows() == before
    assert installation.blobs() == []


def test_a_file_of_the_same_name_and_size_with_other_content_is_refused(
    installation: Installation, tmp_path: Path
) -> None:
    source = tmp_path / "a.txt"
    source.write_text("one")
    pipeline = one_step(read_all)
    first = installation.client.submit(pipeline, source, key="k")
    assert installation.client.submit(pipeline, source, key="k").id == first.id
    assert installation.client.submit(pipeline, ff.Upload("a.txt", b"one"), key="k").id == first.id
    assert installation.client.submit(pipeline, ff.Upload("a.txt", io.BytesIO(b"one")), key="k").id == first.id
    source.write_text("two")
    refused(lambda: installation.client.submit(pipeline, source, key="k"))
    refused(lambda: installation.client.submit(pipeline, ff.Upload("a.txt", b"two"), key="k"))
    refused(lambda: installation.client.submit(pipeline, ff.Upload("b.txt", b"one"), key="k"))
    assert len(installation.blobs()) == 1


def test_other_options_or_another_pipeline_are_refused(installation: Installation) -> None:
    installation.client.submit(batch(), items=[1], options={"a": {"x": 1, "y": 2}}, key="k")
    installation.client.submit(batch(), items=[1], options={"a": {"y": 2, "x": 1}}, key="k")
    refused(lambda: installation.client.submit(batch(), items=[1], options={"a": 1}, key="k"))
    refused(lambda: installation.client.submit(batch("other"), items=[1], options={"a": {"x": 1, "y": 2}}, key="k"))


def test_a_task_from_before_fingerprints_is_compared_by_what_is_known(
    installation: Installation, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one")
    pipeline = one_step(read_all)
    first = installation.client.submit(pipeline, tmp_path / "a.txt", 5, options={"a": 1}, key="k")
    installation.sql("UPDATE tasks SET fingerprint = NULL")
    assert installation.client.submit(pipeline, tmp_path / "a.txt", 5, options={"a": 1}, key="k").id == first.id
    refused(lambda: installation.client.submit(pipeline, tmp_path / "a.txt", 5, options={"a": 2}, key="k"))
    refused(lambda: installation.client.submit(pipeline, tmp_path / "a.txt", 6, options={"a": 1}, key="k"))
    (tmp_path / "a.txt").write_text("longer")
    refused(lambda: installation.client.submit(pipeline, tmp_path / "a.txt", 5, options={"a": 1}, key="k"))


def at_once(acts: list[Callable[[], ff.Task]]) -> tuple[list[str], list[str]]:
    """The ids of tasks and the codes of errors that simultaneous submissions give."""
    start = threading.Barrier(len(acts))
    ids: list[str] = []
    codes: list[str] = []

    def run(act: Callable[[], ff.Task]) -> None:
        start.wait()
        try:
            ids.append(act().id)
        except FanfoldError as error:
            codes.append(error.code)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ids, codes


def test_of_simultaneous_submissions_of_different_work_one_wins_and_the_others_are_refused(
    installation: Installation,
) -> None:
    for round_ in range(3):
        ids, codes = at_once(
            [
                lambda n=n: installation.client.submit(batch(), items=[n, "x" * 1_100_000], key=f"k{round_}")  # type: ignore[misc]  # noqa: B023
                for n in range(6)
            ]
        )
        assert len(ids) == 1
        assert codes == ["key_reused"] * 5
    assert len(installation.blobs()) == 3


@pytest.mark.parametrize("same", [True, False])
def test_the_loser_of_a_race_is_compared_with_the_winner(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    """Both have looked for the key before either has created a task."""
    client, look = installation.client, Tasks.by_key
    winner: list[ff.Task] = []

    def overtaken(self: Tasks, owner: str, key: str) -> Any:
        monkeypatch.setattr(Tasks, "by_key", look)
        found = look(self, owner, key)
        winner.append(client.submit(batch(), items=[1], key="k"))
        return found

    monkeypatch.setattr(Tasks, "by_key", overtaken)
    if same:
        assert client.submit(batch(), items=[1], key="k").id == winner[0].id
    else:
        reason = refused(lambda: client.submit(batch(), items=[2], key="k"))
        assert winner[0].id in reason
    assert len(client.list()) == 1
