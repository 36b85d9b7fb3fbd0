"""Chinese readers see in Chinese why things wait, fail and are refused; programs get codes and parameters."""

import re

import pytest

import fanfold as ff
from fanfold.engine.take_action import VERB
from fanfold.model.awaited.external import EXTERNAL_COMMANDS
from fanfold.model.endings import Ending
from fanfold.model.lifecycle import TASK_MOVES
from fanfold.model.money.questions import money
from fanfold.server.web.chinese import WORDS
from fanfold.server.web.frame.languages import Words, learn
from fanfold.server.web.frame.templating import duration, size
from tests.engine.jobs import JobService
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.server.asking import Asker
from tests.server.test_decisions import reviewed
from tests.server.test_external import made

pytestmark = pytest.mark.one_database

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
    stained = page(asker, f"/tasks/{task.id}/item?key=2")
    assert "已完成，但不是按要求做成的： 第 8 页有污渍" in stained
    assert "is stained" not in stained
    assert "无法重试的错误" in page(asker, f"/tasks/{task.id}/item?key=1")
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
    assert "is unknown whether" not in shown
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
        (ff.Spending(calls=1, cost=0.5, possibly_paid=2), "≥ $0.5000，另有 2 次未收到回答的调用可能已计费"),
        (ff.Spending(calls=1, cost=0.5), "$0.5000"),
    ],
)
def test_costs_are_said_in_chinese(spending: ff.Spending, shown: str) -> None:
    assert Words("zh").sentence(money(spending)) == shown


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (7.31, "7.3 s", "7.3 秒"), (42, "42 s", "42 秒"), (270, "4 min 30 s", "4 分 30 秒"), (660, "11 min", "11 分钟"),
        (7_500, "2 h 05 min", "2 小时 05 分"), (200_000, "2 d 7 h", "2 天 7 小时"),
    ],
)  # fmt: skip
def test_spans_of_time_are_said_in_the_readers_language(seconds: float, english: str, chinese: str) -> None:
    assert (duration(seconds, Words("en")), duration(seconds, Words("zh"))) == (english, chinese)


def test_sizes_are_said_in_the_readers_language() -> None:
    assert [size(many, Words("en")) for many in (1, 6, 1_200, 3_400_000)] == ["1 byte", "6 bytes", "1.2 kB", "3.4 MB"]
    assert [size(many, Words("zh")) for many in (1, 6)] == ["1 字节", "6 字节"]


def test_units_are_said_in_the_readers_language() -> None:
    unit = ("stanza", "stanzas")
    assert [Words("en").items(many, unit) for many in (1, 3)] == ["1 stanza", "3 stanzas"]
    assert [Words("zh").items(many, unit) for many in (1, 3)] == ["1 stanza", "3 stanzas"]
    words = ff.Vocabulary(languages={"zh": {"stanza": "节", "stanzas": "节"}})
    learn([ff.Pipeline("poem", unit=unit, words=words)])
    assert [Words("zh").items(many, unit) for many in (1, 3)] == ["1 节", "3 节"]
    assert Words("zh").items(2, ("item", "items")) == "2 项"


def test_every_event_and_outcome_has_its_chinese() -> None:
    verbs = {move.verb for move in TASK_MOVES} | {one.event for one in Ending if one.event} | {*EXTERNAL_COMMANDS, VERB}
    outcomes = {one.outcome for one in Ending}
    assert {word for word in verbs | outcomes if word not in WORDS} == set()
    assert Words("zh")("decide") == Words("zh")("Decision")


def test_what_was_decided_is_told_in_chinese(asker: Asker, installation: Installation) -> None:
    task = reviewed(installation)
    installation.client.decide(task, "a", "word", "reject")
    shown = page(asker, f"/tasks/{task}/events")
    assert "对 a 作出 1 个决定" in shown
    assert "decision about" not in shown


def test_the_title_of_an_error_page_has_no_command_to_type(asker: Asker) -> None:
    for path, told in (("//tasks/t-none", "没有任务 t-none。"), ("//nowhere", "没有这个页面。")):
        answer = asker.ask("GET", path, headers={"accept": "text/html", **ZH})
        assert f"<title>{told} · Fanfold</title>" in answer.text
