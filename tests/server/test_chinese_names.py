"""In Chinese, the words of the engine are translated, and names that users give stay as they are, even if they look the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.model.lifecycle import COMMANDS, ItemState, TaskState
from fanfold.model.text import catalogue
from fanfold.model.text.sentences import Sentence, say
from fanfold.server.web.chinese import WORDS
from fanfold.server.web.chinese.sentences import SENTENCES
from fanfold.server.web.frame.languages import Words, learn
from tests.installation import Installation
from tests.server.asking import Asker

pytestmark = pytest.mark.one_database

ZH = {"accept-language": "zh-CN,zh;q=0.9", "accept": "text/html"}
FANFOLD = Path(__file__).parents[2] / "fanfold"
CHINESE = Words("zh")
odd = ff.Pipeline(
    "workers",
    title="Workers",
    unit=("task", "tasks"),
    options=[ff.Option("tone", "choice", label="Model", choices=("always", "done"), help="Cost")],
)


@odd.split(name="Failed")
def begin(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """Items with names of states."""
    yield ff.NewItem(key="done", input=1)
    yield ff.NewItem(key="paused", input=2)


@odd.each(name="pause", retry=ff.Retry(limit=0))
def work(item: ff.ItemWork) -> int:
    """One of them fails with a code that is a word of the page."""
    if item.key == "paused":
        raise ff.Permanent("torn", code="merge")
    return 1


@odd.step(name="merge")
def wait(task: ff.TaskWork) -> int:
    """A step that is named like a command."""
    return 1


def shown(asker: Asker, path: str) -> str:
    answer = asker.ask("GET", f"//{path}", headers=ZH)
    assert answer.status_code == 200, answer.text
    return answer.text


def seen(asker: Asker, path: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown(asker, path)))


@pytest.fixture
def task(installation: Installation) -> ff.Task:
    """A task whose names are all words of the dictionary, with a failed item."""
    installation.know(odd)
    made = installation.client.submit(odd, title="Delete", options={"tone": "done"})
    installation.work()
    return made


def test_the_names_of_the_test_are_words_of_the_dictionary() -> None:
    for word in ("Workers", "Failed", "pause", "done", "paused", "merge", "Delete", "Model", "always", "Cost", "tasks"):
        assert word in WORDS


def test_stages_items_and_titles_stay_as_they_are(installation: Installation, task: ff.Task) -> None:
    asker = Asker(installation)
    page = seen(asker, f"tasks/{task.id}")
    assert " Delete " in page
    strip = re.search(r'<ol class="strip".*?</ol>', shown(asker, f"tasks/{task.id}"), re.DOTALL)
    assert strip is not None
    assert re.findall(r'class="state state-\w+">([^<]+)<', strip[0]) == ["Failed", "pause", "merge"]
    assert "torn" in page
    assert re.search(r"<code>merge</code>", shown(asker, f"tasks/{task.id}")), "the code that a handler gave"
    assert "2 tasks" in page
    assert "2 任务" not in page
    items = seen(asker, f"tasks/{task.id}/items")
    assert " done " in items
    assert " paused " in items
    assert "完成" in items, "the state of the engine"


def test_pipelines_and_options_stay_as_they_are_in_forms(installation: Installation, task: ff.Task) -> None:
    form = shown(Asker(installation), "?new=true")
    assert re.search(r'<option value="workers"[^>]*>Workers</option>', form)
    assert re.search(r'<option value="always"[^>]*>always</option>', form)
    assert ">Model<" in form or ">Model " in form


def test_a_task_at_a_step_named_like_a_command_shows_the_name(installation: Installation) -> None:
    line = ff.Pipeline("line")
    told: list[tuple[str, str]] = []

    @line.step(name="merge")
    def make(task: ff.TaskWork) -> int:
        (now,) = installation.client.list()
        told.append((now.status, CHINESE.status(now)))
        return 1

    installation.know(line)
    installation.client.submit(line)
    installation.work()
    assert told == [("merge", "merge")]
    said = say("still_in_state", task="t", state="merge", seconds=1)
    assert "merge" in CHINESE.sentence(said)


@pytest.mark.parametrize("state", [*TaskState, *ItemState, "processing", "ready to merge", "merging", "scheduled"])
def test_a_state_in_a_message_is_the_word_of_the_lists(state: str) -> None:
    said = CHINESE.sentence(say("still_in_state", task="t", state=state, seconds=1))
    assert CHINESE(state) in said
    assert state not in said


def test_a_word_that_an_application_gave_a_state_is_translated_in_messages_too() -> None:
    words = ff.Vocabulary(task={"completed": "shipped"}, languages={"zh": {"shipped": "已发货", "carry": "运送"}})
    freight = ff.Pipeline("freight", words=words)

    @freight.step
    def carry(task: ff.TaskWork) -> int:
        return 1

    learn([freight])
    assert "已发货" in CHINESE.sentence(say("still_in_state", task="t", state="shipped", seconds=1))
    assert "carry" in CHINESE.sentence(say("still_in_state", task="t", state="carry", seconds=1))


def test_one_pipeline_does_not_translate_the_names_of_another() -> None:
    learn([ff.Pipeline("one", words=ff.Vocabulary(languages={"zh": {"bind": "装订"}}))])
    assert (CHINESE.name("bind", "one"), CHINESE.name("bind", "another")) == ("装订", "bind")


def test_every_state_in_a_message_is_marked_as_such() -> None:
    """So that it is translated; and a name is not."""
    for templates in (catalogue.ENGLISH, SENTENCES):
        unmarked = [code for code, text in templates.items() if re.search(r"\{(state|target)\}", text)]
        assert unmarked == []
        for name, spec in re.findall(r"\{(\w+):(word|state)\}", " ".join(templates.values())):
            assert (spec == "state") == (name == "state"), name


def test_commands_in_messages_are_translated() -> None:
    for verb in COMMANDS:
        said = say("needs_state", verb=verb, states=["active", "paused"])
        assert isinstance(said, Sentence)
        assert CHINESE.sentence(said) == f"“{CHINESE(verb)}”需要{CHINESE('active')}或{CHINESE('paused')}的任务"


def test_a_fallback_has_one_word_in_chinese() -> None:
    files = [*(FANFOLD / "server/web/chinese").rglob("*.py"), *(FANFOLD / "apps").rglob("chinese.py")]
    others = [(file.name, word) for file in files for word in ("替代结果", "备用") if word in file.read_text("utf-8")]
    assert others == []
    assert "后备" in CHINESE("degraded")
    assert "后备" in CHINESE("incl. fallbacks")
