"""The contents of a task are available: items, pictures, failures, events, calls, cells and the timeline."""

import io
from pathlib import Path

import pytest
from PIL import Image

import fanfold as ff
from fanfold.apps.pdf import pdf
from fanfold.server.threads import pictures
from tests.apps.pdf.making import make_pdf
from tests.cli.samples import flaky
from tests.installation import Installation
from tests.server.asking import Asker
from tests.server.drawings import DOT, draw, draw_page

drawn = ff.Pipeline("drawn", picture=draw)


@drawn.each(retry=ff.Retry(limit=0))
def see(item: ff.ItemWork) -> object:
    """Keep a picture, if the input says so."""
    return {"image": item.write("dot.png", DOT)} if item.input == "keep" else "seen"


@pytest.fixture
def task(asker: Asker, installation: Installation) -> str:
    """A task of five items, the second and fourth of which failed."""
    items = [{"key": f"k{n}", "input": text} for n, text in enumerate(["a", "bad", "c", "bad", "e"], 1)]
    made = asker.post("/tasks", {"pipeline": "words", "items": items}, status=201)
    installation.worker("first").run()
    return str(made["id"])


def test_items_are_listed_by_page_stage_and_state(asker: Asker, task: str) -> None:
    def keys(**wanted: object) -> tuple[list[str], str | None]:
        page = asker.get(f"/tasks/{task}/items", params=wanted)
        return [item["key"] for item in page["items"]], page["next"]

    assert keys() == (["k1", "k2", "k3", "k4", "k5"], None)
    assert keys(limit=2) == (["k1", "k2"], "k2")
    assert keys(limit=2, after="k2") == (["k3", "k4"], "k4")
    assert keys(limit=2, after="k4") == (["k5"], None)
    assert keys(state="failed") == (["k2", "k4"], None)
    assert keys(state=["failed", "done"], limit=1, after="k2") == (["k3"], "k3")
    assert keys(stage="join") == ([], None)


def test_degraded_items_are_counted_listed_and_redone(asker: Asker, installation: Installation) -> None:
    made = asker.post("/tasks", {"pipeline": "words", "items": ["a", "poor", "c"]}, status=201)["id"]
    installation.work()
    assert asker.get(f"/tasks/{made}")["degraded"] == 1
    assert [task["degraded"] for task in asker.get("/tasks")["tasks"]] == [1]
    [item] = asker.get(f"/tasks/{made}/items", params={"degraded": True})["items"]
    assert (item["key"], item["state"], item["degraded"]) == ("2", "done", "not loud enough")
    assert [one["key"] for one in asker.get(f"/tasks/{made}/items", params={"degraded": False})["items"]] == ["1", "3"]
    assert asker.get(f"/tasks/{made}/items/detail", params={"key": "2"})["item"]["degraded"] == "not loud enough"
    assert asker.post(f"/tasks/{made}/retry", {"degraded": True})["degraded"] == 0
    assert installation.states(installation.client.get(made)) == "done pending done"


def test_an_item_has_its_data_its_errors_and_its_neighbours(asker: Asker, task: str) -> None:
    detail = asker.get(f"/tasks/{task}/items/detail", params={"key": "k2"})
    assert (detail["input"], detail["output"], detail["previous"]) == ("bad", None, None)
    assert (detail["before"], detail["after"], detail["made_by"]) == ("k1", "k3", None)
    assert (detail["item"]["error_code"], detail["item"]["error_message"]) == ("permanent", "no such word")
    assert [(one["outcome"], one["worker"]) for one in detail["attempts"]] == [("failed", "first")]
    first, last = (asker.get(f"/tasks/{task}/items/detail", params={"key": key}) for key in ("k1", "k5"))
    assert (first["before"], first["output"], first["made_by"], last["after"]) == (None, "A", "first", None)


def test_what_is_not_inside_a_task_is_not_found(asker: Asker, task: str) -> None:
    for path in ("detail", "output", "image"):
        for wanted in ({"key": "k9"}, {"key": "k1", "stage": "nothing"}, {"key": "红"}, {"key": "9" * 30}):
            answer = asker.ask("GET", f"/tasks/{task}/items/{path}", params=wanted)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (path, wanted)
        for hostile in ({"key": "\0"}, {"key": "k1", "stage": "\0"}, {}, {"key": "k" * 201}):
            assert asker.ask("GET", f"/tasks/{task}/items/{path}", params=hostile).status_code == 422
    for path in (
        "items?after=k9",
        "items?stage=nothing",
        "calls?key=k9",
        "cells?stage=nothing",
        "results?stage=nothing",
    ):
        assert asker.ask("GET", f"/tasks/{task}/{path}").status_code == 404, path
    for path in ("items?after=%00", "calls?key=%00", "cells?stage=%00", f"events?after={2**70}", "events?after=-1"):
        assert asker.ask("GET", f"/tasks/{task}/{path}").status_code == 422, path


def test_an_output_is_json_in_which_files_are_links(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = sqlite_installation.client.submit(sqlite_installation.know(drawn), items=["keep", "other"])
    sqlite_installation.work()
    image = sqlite_asker.get(f"/tasks/{task.id}/items/output?key=1")["image"]
    assert (image["name"], image["size"]) == ("dot.png", len(DOT))
    assert sqlite_asker.ask("GET", "/" + image["url"]).content == DOT
    assert sqlite_asker.get(f"/tasks/{task.id}/items/output?key=2") == "seen"


def test_the_picture_of_an_item_is_the_kept_one_or_drawn_now(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the pipeline's function does, the server answers, and draws the next picture."""
    wishes = ["keep", "draw", "die", "leave", "raise", "rubbish", "nothing", "text", "hang", "draw"]
    task = sqlite_installation.client.submit(sqlite_installation.know(drawn), items=wishes)
    sqlite_installation.work()
    with (asker := Asker(sqlite_installation)).client:
        for number, wish in enumerate(wishes, 1):
            monkeypatch.setattr(pictures, "DRAWING_SECONDS", 1.0 if wish == "hang" else 60.0)
            answer = asker.ask("GET", f"/tasks/{task.id}/items/image?key={number}")
            if wish in ("keep", "draw"):
                assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png"), wish
                assert answer.content == DOT
                assert answer.headers["cache-control"].startswith("private")
            else:
                assert (answer.status_code, answer.json()["code"]) == (404, "no_picture"), wish


def test_each_page_of_an_item_has_a_picture_of_its_own(sqlite_installation: Installation) -> None:
    paged = ff.Pipeline("paged", picture=draw_page)
    paged.each(name="read")(lambda item: item.input)
    task = sqlite_installation.client.submit(sqlite_installation.know(paged), items=["book"])
    plain = sqlite_installation.client.submit(sqlite_installation.know(drawn), items=["draw"])
    with (asker := Asker(sqlite_installation)).client:
        address = f"/tasks/{task.id}/items/image?key=1"
        assert [asker.ask("GET", f"{address}&page={page}").content[-1:] for page in (1, 3, 2)] == [b"1", b"3", b"2"]
        assert asker.ask("GET", address).content == DOT + b"1"
        assert len(asker.place.pictures._kept) == 4
        for path in (f"{address}&page=4", f"/tasks/{plain.id}/items/image?key=1&page=1"):
            answer = asker.ask("GET", path)
            assert (answer.status_code, answer.json()["code"]) == (404, "no_picture")
        assert asker.ask("GET", f"{address}&page=0").status_code == 422


def test_an_item_of_a_pipeline_that_draws_nothing_has_no_picture(asker: Asker, task: str) -> None:
    answer = asker.ask("GET", f"/tasks/{task}/items/image?key=k1")
    assert (answer.status_code, answer.json()["code"]) == (404, "no_picture")


def test_a_kept_picture_whose_file_is_gone_is_not_found(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = sqlite_installation.client.submit(sqlite_installation.know(drawn), items=["keep"])
    sqlite_installation.work()
    sqlite_installation.store.shelf.delete(sqlite_installation.blobs())
    answer = sqlite_asker.ask("GET", f"/tasks/{task.id}/items/image?key=1")
    assert (answer.status_code, answer.json()["code"]) == (404, "file_gone")


def test_a_page_of_a_pdf_is_drawn_while_it_waits(sqlite_installation: Installation, tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "two.pdf", ["# One", "# Two"])
    task = sqlite_installation.client.submit(sqlite_installation.know(pdf), path)
    worker = sqlite_installation.worker()
    (split,) = worker.turn(free=1).claimed
    worker.settle(worker.call(*split))
    with (asker := Asker(sqlite_installation)).client:
        answer = asker.ask("GET", f"/tasks/{task.id}/items/image?key=2")
    assert answer.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(answer.content)).height > 500


def test_failures_are_grouped_by_their_reason(asker: Asker, task: str) -> None:
    assert asker.get(f"/tasks/{task}/failures") == [
        {"stage": "shout", "code": "permanent", "message": "no such word", "count": 2, "sentence": None}
    ]


def test_events_are_read_from_where_one_stopped(asker: Asker, task: str) -> None:
    events = asker.get(f"/tasks/{task}/events")
    assert events[0]["verb"] == "submit"
    assert asker.get(f"/tasks/{task}/events", params={"after": events[1]["id"]}) == events[2:]
    assert asker.get(f"/tasks/{task}/events", params={"after": events[1]["id"], "limit": 1}) == events[2:3]
    assert asker.get(f"/tasks/{task}/events", params={"after": 2**62}) == []


def test_the_calls_to_models_are_told_with_their_cost(asker: Asker, installation: Installation, task: str) -> None:
    with installation.store.write() as tx:
        (item,) = tx.reading.ids(tx.tasks.resolve(task).number, "shout", ["k1"])
        said = {"provider": "p", "model": "m", "outcome": "ok", "input_tokens": 5, "output_tokens": 7, "cost": 0.5}
        tx.calls.add([{"item": item, "lease": 1, "seconds": 1.5, **said}])
    (call,) = asker.get(f"/tasks/{task}/calls")
    assert {name: call[name] for name in said} == said
    assert (call["item"], call["stage"]) == ("k1", "shout")
    assert asker.get(f"/tasks/{task}/calls?key=k2") == []
    assert asker.get(f"/tasks/{task}/calls?limit=1&before={call['id'] + 1}") == [call]
    assert asker.get(f"/tasks/{task}/calls?before={call['id']}") == []
    for bad in ("limit=0", "limit=10001", f"before={2**70}"):
        assert asker.ask("GET", f"/tasks/{task}/calls?{bad}").status_code == 422, bad
    assert asker.get(f"/tasks/{task}")["spending"]["cost"] == 0.5


def test_the_cells_of_a_stage_are_letters(asker: Asker, task: str) -> None:
    assert asker.get(f"/tasks/{task}/cells") == {"stage": "shout", "total": 5, "width": 1, "letters": "dfdfd"}
    assert asker.get(f"/tasks/{task}/cells?stage=join")["letters"] == ""


def test_a_timeline_has_stages_workers_and_failed_attempts(asker: Asker, task: str) -> None:
    found = asker.get(f"/tasks/{task}/timeline")
    assert [span["stage"] for span in found["stages"]] == ["shout"]
    (lane,) = found["rows"]
    assert (lane["worker"], sum(lane["done"]), sum(lane["failed"])) == ("first", 3, 2)
    assert sorted((one["key"], one["outcome"]) for one in found["attempts"]) == [("k2", "failed"), ("k4", "failed")]


def test_an_attempt_that_was_tried_again_stays_to_be_seen(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(installation.know(flaky))
    installation.work()
    attempts = asker.get(f"/tasks/{task.id}/items/detail?key=1")["attempts"]
    assert [(one["outcome"], one["error_message"]) for one in attempts] == [("retrying", "not yet")]


silent = ff.Pipeline("silent")


@silent.split
def cut(task: ff.TaskWork) -> list[int]:
    """Three items."""
    return [1, 2, 3]


@silent.each
def swallow(item: ff.ItemWork) -> None:
    """Gives nothing back."""


def test_items_without_an_output_are_in_the_lane_of_the_worker_that_did_them(
    asker: Asker, installation: Installation
) -> None:
    task = installation.client.submit(installation.know(silent))
    installation.work()
    lanes = asker.get(f"/tasks/{task.id}/timeline")["rows"]
    assert [sum(lane["done"]) for lane in lanes] == [4]
    assert lanes[0]["worker"]
    shown = asker.ask("GET", f"//tasks/{task.id}/timeline", headers={"accept": "text/html"}).text
    assert "others" not in shown
