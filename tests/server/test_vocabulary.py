"""The API and the page use the application's words, in the reader's language."""

import pytest

import fanfold as ff
from fanfold.server.web.frame import languages
from tests.installation import Installation
from tests.server.asking import Asker

CHINESE = {"zh": {"bound": "已装订", "leaf done": "本页已成", "gathering": "装订阶段"}}
books = ff.Pipeline(
    "books", words=ff.Vocabulary(task={"completed": "bound"}, item={"done": "leaf done"}, languages=CHINESE)
)


@books.each(phase="writing")
def write(item: ff.ItemWork) -> str:
    """A page."""
    return f"page {item.input}"


@books.merge(phase="gathering")
def bind(task: ff.TaskWork, results: ff.Results) -> str:
    """A book."""
    return "\n".join(result.output for result in results)


@pytest.fixture
def task(sqlite_asker: Asker, sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch) -> ff.Task:
    """A completed task, on a server that knows the pipeline."""
    sqlite_installation.know(books)
    monkeypatch.setattr(languages, "BROUGHT", {})
    languages.learn([books])
    made = sqlite_installation.client.submit(books, items=[1, 2])
    sqlite_installation.work()
    return made


def test_the_api_gives_state_word_and_phase(sqlite_asker: Asker, task: ff.Task) -> None:
    known = sqlite_asker.get(f"/tasks/{task.id}")
    assert (known["state"], known["word"], known["status"], known["phase"]) == ("completed", "bound", "bound", "done")
    assert known["item_words"] == {"done": "leaf done"}
    items = sqlite_asker.get(f"/tasks/{task.id}/items")["items"]
    assert [(item["state"], item["word"]) for item in items] == [("done", "leaf done")] * 2


@pytest.mark.parametrize(("language", "word", "leaf"), [("en", "bound", "leaf done"), ("zh", "已装订", "本页已成")])
def test_the_page_speaks_the_words_of_the_application(
    sqlite_asker: Asker, task: ff.Task, language: str, word: str, leaf: str
) -> None:
    def page(path: str) -> str:
        return sqlite_asker.ask("GET", f"//tasks/{task.id}{path}", headers={"accept-language": language}).text

    assert f">{word}<" in page("")
    assert f">{leaf}<" in page("")
    assert f">{leaf}<" in page("/items")
    assert f">{leaf}<" in page("/item?key=1")
    assert f">{leaf}<" in page("/cell?position=0&stage=write")
    assert f">{leaf}<" in page("/cell?position=0&stage=write&width=2")


def test_an_application_cannot_change_what_the_page_itself_says(
    sqlite_asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(languages, "BROUGHT", {})
    before = languages.Words("zh")("delete")
    languages.learn([ff.Pipeline("p", words=ff.Vocabulary(languages={"zh": {"delete": "保存"}}))])
    assert languages.Words("zh")("delete") == before
