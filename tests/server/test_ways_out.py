"""The pages say what failed, and offer what can help, and nothing that cannot."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.apps.pdf import pdf
from fanfold.apps.pdf.sentences import say_of_pdf
from fanfold.cli.commands.show import fields
from fanfold.cli.commands.tasks import row as row_of
from fanfold.model.pipelines.options import Option
from fanfold.server.web.frame.languages import Words, learn
from fanfold.server.web.frame.templating import elapsed
from tests.cli.samples import words
from tests.installation import HandClock, Installation, set_clock
from tests.server.asking import Asker
from tests.server.test_honest import HTML, page

pytestmark = pytest.mark.one_database

book = ff.Pipeline(
    "book",
    unit=("page", "pages"),
    options=[Option("password", help="Opens it.", helps=("encrypted",)), Option("ink", help="Any.")],
)


@book.split
def split(task: ff.TaskWork) -> list[str]:
    """Three pages, if the book can be opened."""
    if task.options.get("ink") == "wet":
        raise ff.Temporary("The ink is wet.", after=0)
    if task.input.read_text() == "locked" and not task.options.get("password"):
        raise ff.Permanent("It is encrypted.", code="encrypted")
    if task.input.read_text() == "noise":
        raise ff.Permanent("It is not a book.", code="not_a_book")
    return ["1", "2", "3"]


@book.each(retry=ff.Retry(limit=0))
def read(item: ff.ItemWork) -> str:
    """A page; the second is blank in some books."""
    if item.input == "2" and item.options.get("ink") == "none":
        raise ff.Permanent("It is blank.")
    return str(item.input)


@book.merge
def bind(task: ff.TaskWork, results: ff.Results) -> str:
    """All pages."""
    return "".join(result.output for result in results)


def submitted(asker: Asker, installation: Installation, text: str, **options: str) -> str:
    """The id of a task for a file with this text, worked on until it rests."""
    path = installation.settings.data_folder / "a.book"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    task = installation.client.submit(installation.know(book), path, options=options, title=text)
    asker.place.pipelines = {"book": book}
    installation.work()
    return task.id


def row(asker: Asker, task: str) -> str:
    found = re.search(f'<li id="task-{task}".*?</li>', page(asker, "/"))
    assert found is not None
    return found[0]


def head(asker: Asker, task: str) -> str:
    found = re.search('<section id="task-head".*?</section>', page(asker, f"/tasks/{task}"))
    assert found is not None
    return found[0]


def visible(html: str) -> str:
    """What is shown before a menu is opened."""
    return re.sub(r"<details.*?</details>", "", html)


def test_a_failed_split_is_no_failed_page(asker: Asker, installation: Installation) -> None:
    task = submitted(asker, installation, "noise")
    known = asker.get(f"/tasks/{task}")
    assert (known["state"], known["counted"]) == ("failed", "split")
    found = installation.client.get(task)
    assert found.failed_step == "split"
    assert row_of(found)[4:6] == ("", "split")
    assert dict(fields(found))["progress"].endswith(" %, split failed")
    for shown in (row(asker, task), head(asker, task)):
        assert "split failed: It is not a book." in shown
        assert "1 page" not in shown
        assert "1 failed" not in shown
    assert ">split failed</h2>" in page(asker, f"/tasks/{task}")


def test_a_failed_page_is_counted(asker: Asker, installation: Installation) -> None:
    task = submitted(asker, installation, "fine", ink="none")
    assert (asker.get(f"/tasks/{task}")["counted"], installation.client.get(task).failed_step) == ("read", "")
    assert "2 / 3 pages" in row(asker, task)
    assert "1 failed" in row(asker, task)
    assert "retry 1 failed" in visible(row(asker, task))


def test_options_are_offered_where_they_help_and_the_same_again_does_not(
    asker: Asker, installation: Installation
) -> None:
    task = submitted(asker, installation, "locked")
    for shown, place in ((row(asker, task), f"/tasks/{task}#failures"), (head(asker, task), "#failures")):
        assert re.search(rf'<a class="button primary" href="{place}" data-key="r">retry with (…|other options)', shown)
        assert f"/tasks/{task}/retry" not in visible(shown)
        assert f'action="/tasks/{task}/retry"' in shown
        assert shown.count('data-key="r"') == 1


def test_nothing_is_offered_first_where_only_another_file_helps(asker: Asker, installation: Installation) -> None:
    task = submitted(asker, installation, "noise")
    for shown in (row(asker, task), head(asker, task)):
        assert "primary" not in shown
        assert f"/tasks/{task}/retry" not in visible(shown)
        assert 'data-key="r"' not in shown
    assert "Only a different file will help" in head(asker, task)


@pytest.mark.parametrize(("text", "options"), [("fine", {"ink": "wet"}), ("fine", {"ink": "none"})])
def test_a_retry_comes_first_where_it_may_help(
    asker: Asker, installation: Installation, text: str, options: dict[str, str]
) -> None:
    task = submitted(asker, installation, text, **options)
    for shown in (row(asker, task), head(asker, task)):
        assert re.search(f'action="/tasks/{task}/retry".*?button primary.*?data-key="r"', visible(shown))
        assert "other options" not in shown


translating = ff.Pipeline("translating", options={"provider": "Who.", "model": "Which."})


@translating.each
def translate(item: ff.ItemWork) -> str:
    """A word; the usual service does not answer."""
    if item.options.get("provider") != "other":
        raise ff.Temporary("no answer", code="unreachable", counts=False, by="usual", after=30)
    return f"{item.input} by other"


@pytest.fixture
def patient(database_url: str, tmp_path: Path) -> Iterator[tuple[Asker, Installation, HandClock]]:
    """A server with a worker and a clock that is moved by hand."""
    clock = set_clock()
    made = Installation(database_url, tmp_path / "data", clock)
    made.know(translating)
    asker = Asker(made)
    with asker.client:
        yield asker, made, clock
    made.store.close()


def test_a_task_that_waits_too_long_for_a_service_goes_on_with_another_by_one_button(
    patient: tuple[Asker, Installation, HandClock],
) -> None:
    asker, installation, clock = patient
    task = installation.client.submit(translating, items=["one", "two"]).id
    installation.work()
    assert "#switch-menu" not in row(asker, task) + head(asker, task)
    clock.advance(1200)
    assert asker.get(f"/tasks/{task}")["needs_you"]
    assert f'<a class="button primary" href="/tasks/{task}#switch-menu">' in row(asker, task)
    assert f'action="/tasks/{task}/switch"' in head(asker, task)
    refused = asker.ask("POST", f"//tasks/{task}/switch", headers={"accept": "*/*"})
    assert (refused.status_code, asker.get(f"/tasks/{task}")["state"]) == (422, "active")
    answer = asker.ask("POST", f"//tasks/{task}/switch", data={"provider": "other"}, headers=HTML)
    assert answer.status_code == 303
    installation.work()
    assert asker.get(f"/tasks/{task}")["state"] == "completed"
    assert [result.output for result in installation.client.results(task)] == ["one by other", "two by other"]


def test_what_is_selected_says_what_is_possible_for_it(asker: Asker, installation: Installation) -> None:
    failed = submitted(asker, installation, "fine", ink="none")
    active = installation.client.submit(book, installation.settings.data_folder / "a.book").id
    for task in (failed, active):
        said = re.search('data-commands="(.*?)"', row(asker, task))
        assert said is not None
        assert said[1].split() == list(installation.client.get(task).plain_commands)
    every = asker.ask("GET", "//bulk/possible").json()
    assert (every["retry"], every["pause"], every["delete"]) == (1, 1, 1)
    assert asker.ask("GET", "//bulk/possible?show=active").json().get("retry") is None


def test_the_list_names_what_made_the_result(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(words, items=["poor", "one"]).id
    whole = installation.client.submit(words, items=["poor", "poor"]).id
    installation.work()
    installation.sql("UPDATE item_data SET model = 'text layer' WHERE output IS NOT NULL")
    assert "text layer" not in row(asker, task)
    assert '<div class="task-model muted" title="text layer">text layer</div>' in row(asker, whole)


def test_a_task_never_seems_to_take_longer_than_it_is_old() -> None:
    said = [elapsed(seconds, Words("en")) for seconds in (0.2, 59.9, 60, 1139, 3599, 7199, 86399, 200_000)]
    assert said == ["1 s", "59 s", "1 min", "18 min", "59 min", "1 h", "23 h", "2 d"]


def test_no_sentence_of_the_page_names_an_option_that_has_a_field() -> None:
    learn([pdf])
    said = say_of_pdf("encrypted", file="a.pdf")
    assert Words("en").sentence(said) == "a.pdf is encrypted. Give its password."
    assert Words("zh").sentence(said) == "a.pdf 已加密。请给出密码。"
