"""Trouble that books meet in practice: a service that hangs, and two people who decide at the same time."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.proofread import proofread
from tests.ai_protocol import Call, Reply
from tests.ai_server import AIServer
from tests.apps.proofread.answering import MARK, replacing, served
from tests.engine.live import Live

CORRECT = replacing(("teh", "the"))
CHAPTERS = 12


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path / "data")
    yield made
    made.store.close()


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    """A novel whose chapters are a chunk and have a mistake each."""
    path = tmp_path / "novel.txt"
    chapters = (f"Chapter {at}\n\nIn teh night of storm {at * 7919}, the rain fell." for at in range(1, CHAPTERS + 1))
    path.write_text("\n\n".join(chapters))
    return path


def submitted(live: Live, novel: Path, **how: Any) -> ff.Task:
    options = {"model": "fake:fake-large", "chunk_size": 60}
    return live.client.submit(live.know(proofread), novel, options=options, straight_through=True, **how)


@pytest.mark.one_database
def test_a_service_that_hangs_costs_some_time_and_nothing_else(
    live: Live, novel: Path, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call has a time limit. A call that ran into it may be paid for, and is shown so; its chunk is tried again."""
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_TIMEOUT", "2")
    seen: list[str] = []

    def answer(call: Call) -> Reply:
        is_first = f"storm {3 * 7919}" in call.prompt.rpartition(MARK)[2] and call.prompt not in seen
        seen.append(call.prompt)
        return Reply(served(CORRECT)(call), hangs=is_first)

    ai.answer(answer)
    task = submitted(live, novel)
    with live.working(concurrency=4):
        done = live.until(task, "completed")
    assert live.client.result(task.id)["file"].read_text() == CORRECT(novel.read_text())
    assert (done.spending.calls, done.spending.possibly_paid, done.degraded) == (CHAPTERS, 1, 0)
    [tried] = [item for item in live.client.items(task.id) if item.failures]
    assert (tried.key, tried.state, "2 s" in str(tried.error_message)) == ("3", "done", True)


def test_two_people_decide_at_once_and_the_book_has_what_the_list_says(live: Live, novel: Path, ai: AIServer) -> None:
    ai.answer(served(CORRECT))
    task = submitted(live, novel)
    with live.working(concurrency=4):
        live.until(task, "completed")
        keys = {
            result.key: change["key"]
            for result in live.client.results(task.id)
            for paragraph in result.output["paragraphs"]
            for change in paragraph.get("changes", ())
        }
        assert len(keys) == CHAPTERS
        problems: list[BaseException] = []

        def decide(who: str, verdicts: list[str], order: list[str]) -> None:
            try:
                for number, item in enumerate(order):
                    value = f"{who}'s" if verdicts[number % len(verdicts)] == "replace" else None
                    own = ff.Client(store=live.store, pipelines=live.pipelines, actor=who)
                    own.decide(task.id, item, keys[item], verdicts[number % len(verdicts)], value)
            except BaseException as problem:
                problems.append(problem)

        people = [
            threading.Thread(target=decide, args=("alice", ["reject", "replace"], list(keys))),
            threading.Thread(target=decide, args=("bob", ["accept", "reject"], list(reversed(keys)))),
        ]
        for person in people:
            person.start()
        for person in people:
            person.join(60)
        assert problems == []
        live.until(task, "completed")
    decided = {one.item: one for one in live.client.decisions(task.id)}
    assert {one.actor for one in decided.values()} == {"alice", "bob"}
    expected = novel.read_text()
    for item, made in decided.items():
        word = {"accept": "the", "reject": "teh", "replace": "alice's"}[str(made.verdict)]
        storm = f"night of storm {int(item) * 7919},"
        expected = expected.replace(f"teh {storm}", f"{word} {storm}")
    assert live.client.result(task.id)["file"].read_text() == expected
    assert len(ai.calls) == CHAPTERS, "deciding asks no model"
    report = json.loads(live.client.result(task.id)["report"].read_text())
    assert sum(report["changes"].values()) == CHAPTERS
