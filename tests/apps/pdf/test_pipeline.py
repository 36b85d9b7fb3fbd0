"""A PDF passes through the pipeline on both databases, with every kind of page and failure."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.pdf import pdf
from fanfold.apps.pdf.options import Options
from fanfold.apps.pdf.pages.page_text import PageText
from fanfold.apps.pdf.pages.windows import Windows
from tests.ai_protocol import Call
from tests.ai_server import AIServer
from tests.apps.pdf.making import make_blank, make_encrypted, make_pdf, make_scan
from tests.apps.pdf.sample_document import write_sample
from tests.engine.live import Live

pytestmark = pytest.mark.one_database

WORDS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi"
)
NAMES = ("One", "Two", "Three", "Four")


def text_of(number: int) -> str:
    """Each begins in its own way: what all pages begin with is a running header."""
    name = NAMES[number - 1] if number <= len(NAMES) else f"Chapter{number}x{'abcdefghij'[number % 10] * 3}"
    return f"{name} is its name, and it says: {WORDS} and {WORDS} once more, page {number}."


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers that knows the application."""
    made = Live(database_url, tmp_path / "data")
    made.know(pdf)
    yield made
    made.store.close()


@pytest.fixture
def sqlite_live(sqlite_url: str, tmp_path: Path) -> Iterator[Live]:
    """The same on SQLite alone, for what is slow and the same on every database."""
    made = Live(sqlite_url, tmp_path / "data")
    made.know(pdf)
    yield made
    made.store.close()


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Four pages of text."""
    make_pdf(tmp_path / "book.pdf", [text_of(number) for number in range(1, 5)])
    return tmp_path / "book.pdf"


def convert(live: Live, source: Path, state: str = "completed", **options: Any) -> ff.Task:
    task = live.client.submit(pdf, source, options=options)
    with live.working(concurrency=8, children=2):
        return live.until(task, state, 90)


def markdown(live: Live, task: ff.Task) -> str:
    result = live.client.result(task.id)
    return str((result["markdown"] if isinstance(result, dict) else result).read_text())


def test_the_sample_becomes_markdown_with_all_that_is_in_it(sqlite_live: Live, tmp_path: Path) -> None:
    write_sample(tmp_path / "sample.pdf")
    task = convert(sqlite_live, tmp_path / "sample.pdf")
    text = markdown(sqlite_live, task)
    engines = [sqlite_live.client.output(task.id, str(page))["engine"] for page in range(1, 7)]
    assert engines == ["text layer", "text layer", "text layer", "ocr", "text layer", "blank"]
    assert "\n# " in text
    assert "\n| " in text
    assert "\n```" in text
    assert [f"<!-- Page {page} -->" in text for page in range(1, 7)] == [True] * 6
    assert sqlite_live.client.result(task.id).name == "sample.md"


def test_only_the_pages_that_are_wanted_are_touched(live: Live, book: Path) -> None:
    task = convert(live, book, pages="2,4-")
    text = markdown(live, task)
    assert [item.key for item in live.client.items(task.id)] == ["2", "4"]
    assert ("<!-- Page 2 -->" in text, "<!-- Page 1 -->" in text, "<!-- Page 4 -->" in text) == (True, False, True)


def test_a_model_sees_each_page_once_and_its_picture_is_kept(live: Live, book: Path, ai: AIServer) -> None:
    ai.answer(lambda call: f"# Seen\n\n{WORDS} {WORDS} by {call.model}, page number says this and once more")
    task = convert(live, book, provider="fake")
    assert (len(ai.calls), task.spending.calls) == (4, 4)
    output = live.client.output(task.id, "3")
    assert output["engine"] == "fake:fake-large"
    assert output["image"].read_bytes().startswith(b"\xff\xd8")
    assert "by fake-large" in markdown(live, task)


def test_a_page_retried_with_another_model_is_merged_again(live: Live, book: Path, ai: AIServer) -> None:
    ai.answer(lambda call: f"{WORDS} {WORDS} page number says this and once more, by {call.model}")
    task = convert(live, book, provider="fake")
    live.client.retry(task.id, ["2"], options={"model": "fake-small"})
    with live.working(children=2):
        live.until(task, "completed", 60)
    assert markdown(live, task).count("by fake-small") == 1
    assert len(ai.calls) == 5
    assert live.client.items(task.id)[1].model == "fake:fake-small"


def test_an_answer_that_lost_the_text_goes_down_the_chain_to_the_text_layer(
    live: Live, book: Path, ai: AIServer
) -> None:
    ai.answer("# A page with some text")
    task = convert(live, book, provider="fake", fallback=["fake:fake-small"], pages="1")
    output = live.client.output(task.id, "1")
    assert output["engine"] == "text layer"
    [item] = live.client.items(task.id)
    assert str(item.degraded).startswith("text layer instead of a model: The answer of fake:fake-large cannot be used")
    assert "of the page's words" in str(item.degraded)
    assert task.degraded == 1
    assert "One is its name" in markdown(live, task)
    assert [call.model for call in ai.calls] == ["fake-large", "fake-large", "fake-small", "fake-small"]


def test_a_page_of_a_later_model_of_the_chain_is_degraded(sqlite_live: Live, book: Path, ai: AIServer) -> None:
    good = f"{WORDS} {WORDS} page number says this and once more"
    ai.answer(lambda call: good if call.model == "fake-small" else "# A page with some text")
    task = convert(sqlite_live, book, provider="fake", fallback=["fake:fake-small"], pages="1")
    [item] = sqlite_live.client.items(task.id)
    assert str(item.degraded).startswith("answered by fake:fake-small instead of fake:fake-large: The answer of")
    assert task.degraded == 1
    sqlite_live.client.retry(task.id, degraded=True, options={"model": "fake-small", "fallback": []})
    with sqlite_live.working(children=2):
        again = sqlite_live.until(task, "completed", 60)
    assert again.degraded == 0, "the model that was chosen is not a fallback"


def test_a_scan_that_the_model_refuses_is_read_by_ocr_and_degraded(live: Live, tmp_path: Path, ai: AIServer) -> None:
    make_scan(tmp_path / "scan.pdf", ["The quick brown fox jumps over the lazy dog."])
    ai.always("refusal")
    task = convert(live, tmp_path / "scan.pdf", provider="fake", fallback=["local"])
    [item] = live.client.items(task.id)
    assert str(item.degraded).startswith("OCR instead of a model: The answer of fake:fake-large cannot be used")
    assert (task.degraded, live.client.output(task.id, "1")["engine"]) == (1, "ocr")
    assert "quick brown fox" in markdown(live, task)


def test_local_comes_last_among_the_fallbacks() -> None:
    with pytest.raises(ff.Permanent, match="local has no models"):
        Options.of({"provider": "local", "model": "large"})
    assert Options.of({"model": "fake:large"}).model == "fake:large"
    with pytest.raises(ff.Permanent, match="local must come last"):
        Options.of({"provider": "fake", "fallback": ["local", "fake:fake-small"]})


def test_a_page_that_lost_text_is_degraded_in_item_task_and_report(
    live: Live, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def page(self: Windows, item: ff.ItemWork) -> PageText:
        number = item.input["page"]
        return PageText(number, "Some of it.", "Some of it.", False, lost="only 40 % kept" if number == 2 else None)

    monkeypatch.setattr(Windows, "page", page)
    task = convert(live, book, report=True)
    assert (task.state, task.degraded) == ("completed", 1)
    assert [item.degraded for item in live.client.items(task.id)] == [None, "only 40 % kept", None, None]
    report = json.loads(live.client.result(task.id)["report"].read_text())
    assert [page["degraded"] for page in report["pages"]] == [None, "only 40 % kept", None, None]


def test_a_blank_page_is_done_empty_and_not_paid_for(live: Live, tmp_path: Path, ai: AIServer) -> None:
    make_blank(tmp_path / "blank.pdf")
    task = convert(live, tmp_path / "blank.pdf", provider="fake")
    assert (task.done, ai.calls) == (task.total, [])
    assert live.client.output(task.id, "1")["markdown"] == ""


def test_ocr_can_be_had_for_every_page(sqlite_live: Live, tmp_path: Path) -> None:
    make_pdf(tmp_path / "one.pdf", ["The quick brown fox jumps over the lazy dog."])
    task = convert(sqlite_live, tmp_path / "one.pdf", ocr="always")
    assert sqlite_live.client.output(task.id, "1")["engine"] == "ocr"
    assert "quick brown fox" in markdown(sqlite_live, task)


def test_a_password_is_named_and_never_kept(live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_encrypted(tmp_path / "locked.pdf", "open-sesame", [text_of(1)])
    closed = convert(live, tmp_path / "locked.pdf", state="failed")
    assert "is encrypted" in str(closed.error_message)
    monkeypatch.setenv("BOOK_PASSWORD", "open-sesame")
    opened = convert(live, tmp_path / "locked.pdf", password_env="BOOK_PASSWORD")
    assert "One is its name" in markdown(live, opened)
    assert all("open-sesame" not in str(rows) for rows in live.rows().values())


def test_pages_and_facts_come_as_files_of_their_own(live: Live, book: Path) -> None:
    task = convert(live, book, per_page=True, report=True)
    result = live.client.result(task.id)
    with result["pages"].open() as source, zipfile.ZipFile(source) as archive:
        assert archive.namelist() == [f"page-000{page}.md" for page in range(1, 5)]
        assert "Two is its name" in archive.read("page-0002.md").decode()
    report = json.loads(result["report"].read_text())
    assert [page["page"] for page in report["pages"]] == [1, 2, 3, 4]
    assert report["pages"][0]["model"] == "text layer"


def test_a_task_wants_one_file(live: Live, tmp_path: Path) -> None:
    with pytest.raises(ff.BadInput, match=r"needs a file that ends with \.pdf") as caught:
        live.client.submit(pdf)
    assert caught.value.code == "no_file"
    several = [make_pdf(tmp_path / f"{name}.pdf", ["One page of text."]) for name in "ab"]
    task = live.client.submit(pdf, *several)
    with live.working(children=1):
        failed = live.until(task, "failed", 60)
    assert "one file per task" in str(failed.error_message)


def test_the_first_page_is_done_before_the_last_one_is_rendered(
    sqlite_live: Live, tmp_path: Path, ai: AIServer
) -> None:
    make_pdf(tmp_path / "long.pdf", [text_of(number) for number in range(1, 31)])
    pictures_at_first_answer: list[int] = []

    def answer(call: Call) -> str:
        if not pictures_at_first_answer:
            pictures_at_first_answer.append(sum(key.endswith(".jpg") for key in sqlite_live.blobs()))
        return f"{WORDS} {WORDS} page number says this and once more"

    ai.answer(answer)
    task = sqlite_live.client.submit(pdf, tmp_path / "long.pdf", options={"provider": "fake"})
    with sqlite_live.working(concurrency=2, children=1):
        sqlite_live.until(task, "completed", 90)
    assert pictures_at_first_answer[0] < 10
    assert len(ai.calls) == 30


def test_the_result_can_be_had_as_markdown_and_as_a_web_page(sqlite_live: Live, tmp_path: Path) -> None:
    make_pdf(tmp_path / "b.pdf", [text_of(1), f"<script>alert(1)</script> {text_of(2)}"])
    task = convert(sqlite_live, tmp_path / "b.pdf", per_page=True)
    markdown = sqlite_live.client.result(task.id, form="markdown")
    assert markdown == sqlite_live.client.result(task.id)["markdown"].read_text()
    page = sqlite_live.client.result(task.id, form="html")
    assert '<p class="page" id="page-2">2</p>' in page
    assert "Two is its name" in page
    assert "<script" not in page
    assert "&lt;!--" not in page
