"""A reader of Chinese is told in Chinese why things wait, fail and are refused; a program gets codes and parameters."""

import re

import pytest

import fanfold as ff
from fanfold.model.values.questions import money
from fanfold.server.web.frame.languages import Words
from tests.engine.jobs import JobService
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.server.asking import Asker
from tests.server.test_external import made

ZH = {"accept-language": "zh-CN,zh;q=0.9"}
say = ff.Catalogue(
    "torn",
    {"page": "Page {page} is torn.[[ Mend it: fanfold retry]]", "stained": "page {page} is stained"},
    {"zh": {"page": "第 {page} 页破损。", "stained": "第 {page} 页有污渍"}},
)
torn = ff.Pipeline("torn", words=ff.Vocabulary(sentences=say))


@torn.each(retry=ff.Retry(limit=0))
def mend(item: ff.ItemWork) -> str:
    """The first page is torn, the second stained."""
    if item.key == "1":
        raise ff.Permanent(say("page", page=item.input))
    item.degraded(say("stained", page=item.input))
    return "mended"


def page(asker: Asker, path: str, **headers: str) -> str:
    answer = asker.ask("GET", f"/{path}", headers={"accept": "text/html", **ZH, **headers})
    assert answer.status_code < 500, answer.text
    return re.sub(r"<[^>]+>", "", answer.text)


def submitted(installation: Installation) -> ff.Task:
    installation.know(torn)
    task = installation.client.submit(torn, items=[7, 8])
    installation.work()
    return task


def test_what_an_application_says_is_shown_in_the_readers_language(installation: Installation) -> None:
    task = submitted(installation)
    asker = Asker(installation)
    for path in (
        f"/tasks/{task.id}",
        f"/tasks/{task.id}/events",
        f"/tasks/{task.id}/items",
        f"/tasks/{task.id}/timeline",
    ):
        shown = page(asker, path)
        assert "第 7 页破损" in shown, path
        assert "is torn" not in shown, path
    assert "第 7 页破损" in page(asker, f"/tasks/{task.id}/item?key=1")
    assert "第 8 页有污渍" in page(asker, f"/tasks/{task.id}/items")
    english = page(asker, f"/tasks/{task.id}", **{"accept-language": "en"})
    assert "Page 7 is torn." in english
    assert "fanfold retry" not in english


def test_a_program_gets_code_and_parameters_beside_each_text(installation: Installation) -> None:
    task = submitted(installation)
    asker = Asker(installation)
    known = asker.get(f"/tasks/{task.id}")
    assert known["sentences"]["wait_reason"] == {"code": "failed_retry", "parameters": {"count": 1}}
    assert known["sentences"]["error_message"]["code"] == "some_failed"
    items = asker.get(f"/tasks/{task.id}/items")["items"]
    assert items[0]["error_message"] == "Page 7 is torn."
    assert items[0]["sentences"] == {"error_message": {"code": "torn.page", "parameters": {"page": 7}}}
    assert items[1]["sentences"] == {"degraded": {"code": "torn.stained", "parameters": {"page": 8}}}
    detail = asker.get(f"/tasks/{task.id}/items/detail?key=1")
    assert detail["attempts"][0]["sentences"]["error_message"]["code"] == "torn.page"
    assert asker.get(f"/tasks/{task.id}/failures")[0]["sentence"] == {"code": "torn.page", "parameters": {"page": 7}}
    events = asker.get(f"/tasks/{task.id}/events")
    assert [one["sentences"]["reason"]["code"] for one in events if one["reason"]] == ["torn.page", "some_failed"]
    assert all(one["sentences"]["fact"]["code"] for one in asker.get("/doctor") if one["name"] in ("disk", "clock"))


def test_a_problem_has_its_code_and_is_said_in_the_readers_language(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(batch("small"), items=["a"])
    plain = asker.post(f"/tasks/{task.id}/resume", status=409)
    assert plain["sentence"]["code"] == "refused"
    assert plain["sentence"]["parameters"]["problem"]["code"] == "needs_state"
    assert "ways" not in plain["sentence"]["parameters"]
    assert "shown" not in plain
    chinese = asker.post(f"/tasks/{task.id}/resume", status=409, headers=ZH)
    assert chinese["detail"] == plain["detail"] == f"Task {task.id} is active: resume needs a paused or waiting task."
    assert chinese["shown"] == f"任务 {task.id} 目前进行中：“继续”需要已暂停或等待中的任务。"
    assert "没有任务 t-none。" in page(asker, "/tasks/t-none")


def test_why_items_wait_for_a_person_is_said_in_chinese_throughout(asker: Asker, installation: Installation) -> None:
    task = made(installation, JobService())
    shown = page(asker, f"/tasks/{task}")
    assert "无法确定外部作业" in shown
    assert "您可以：重试这 1 项" in shown
    assert "nobody knows" not in shown
    assert "fanfold external" not in shown


def test_a_reason_that_a_person_or_an_older_version_gave_is_shown_as_it_is(
    asker: Asker, installation: Installation
) -> None:
    task = installation.client.submit(batch("small"), items=["a"])
    installation.client.pause(task.id, "the key was refused")
    assert "the key was refused" in page(asker, f"/tasks/{task.id}")
    assert Words("zh").sentence("12 failed: written before there were codes") == (
        "12 failed: written before there were codes"
    )


@pytest.mark.parametrize(
    ("spending", "shown"),
    [
        (ff.Spending(calls=1, unpriced=1), "费用未知"),
        (ff.Spending(calls=1, cost=0.5, possibly_paid=2), "≥ $0.5000，另有 2 次调用可能已计费"),
        (ff.Spending(calls=1, cost=0.5), "$0.5000"),
    ],
)
def test_costs_are_said_in_chinese(spending: ff.Spending, shown: str) -> None:
    assert Words("zh").sentence(money(spending)) == shown
