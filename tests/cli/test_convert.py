"""`fanfold convert` finds, converts, saves and explains as a person expects."""

import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from fanfold.engine.worker.processes.children import Children
from fanfold.model.values.files import File
from fanfold.running.many_files import conducting, saving
from fanfold.running.many_files.files import SMALL_FILE, warm_for
from fanfold.running.many_files.saving import Saving
from fanfold.running.many_files.sources import Source
from fanfold.store.store import Store, Transaction
from tests.ai_server import AIServer
from tests.apps.pdf.making import make_blank, make_broken, make_encrypted, make_pdf, make_scan
from tests.cli.shell import Shell

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"
ANSWER = f"{WORDS} {WORDS} is what it says, and so does the rest of this page"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in."""
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def book(path: Path, pages: int = 2) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return make_pdf(path, [f"{'ABCDEFGH'[n]}{path.stem} says: {WORDS} and {WORDS}." for n in range(pages)])


def test_a_pdf_becomes_markdown_beside_it(shell: Shell, place: Path) -> None:
    book(place / "book.pdf")
    result = shell.type("convert", "book.pdf")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "book.pdf → book.md: 2 pages" in result.stderr
    assert (place / "book.md").read_text().startswith("<!-- Page 1 -->\n\nAbook says")


def test_done_once_it_is_done(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf")
    sqlite_shell.ok("convert", "book.pdf")
    (place / "book.md").unlink()
    again = sqlite_shell.type("convert", "book.pdf")
    assert "already done" in again.stderr
    assert (place / "book.md").exists(), "the result is written again"
    assert len(sqlite_shell.json("tasks")) == 1
    sqlite_shell.ok("convert", "book.pdf", "--fresh")
    assert len(sqlite_shell.json("tasks")) == 2


def test_files_folders_and_patterns_go_into_a_folder_of_ones_own(sqlite_shell: Shell, place: Path) -> None:
    for name in ("one.pdf", "papers/two.PDF", "papers/deep/three.pdf", "other/x1.pdf", "other/x2.pdf"):
        book(place / name, 1)
    (place / "papers" / "notes.txt").write_text("not a pdf")
    sqlite_shell.ok("convert", "one.pdf", "papers", "other/x*.pdf", "one.pdf", "-o", "out")
    made = sorted(path.relative_to(place / "out").as_posix() for path in (place / "out").rglob("*.md"))
    assert made == ["deep/three.md", "one.md", "two.md", "x1.md", "x2.md"]


def test_two_of_one_name_do_not_overwrite_each_other(sqlite_shell: Shell, place: Path) -> None:
    book(place / "a" / "book.pdf", 1)
    make_pdf(place / "book.pdf", ["Another one altogether."])
    sqlite_shell.ok("convert", "a/book.pdf", "book.pdf", "-o", "out/")
    assert "Abook" in (place / "out" / "book.md").read_text()
    assert "Another" in (place / "out" / "book-2.md").read_text()


def test_one_file_may_be_named(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf", 1)
    sqlite_shell.ok("convert", "book.pdf", "-o", "deep/er/mine.md")
    assert (place / "deep" / "er" / "mine.md").exists()
    book(place / "two.pdf", 1)
    assert "Name a folder" in sqlite_shell.fails(5, "convert", "book.pdf", "two.pdf", "-o", "mine.md")


def test_a_dash_is_the_standard_output_and_nothing_else_goes_there(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf", 1)
    result = sqlite_shell.type("convert", "book.pdf", "-o", "-", "--no-marks")
    assert result.stdout.startswith("Abook says")
    assert not (place / "book.md").exists()


def test_a_file_that_was_edited_is_kept(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf", 1)
    sqlite_shell.ok("convert", "book.pdf")
    (place / "book.md").write_text("my own notes")
    result = sqlite_shell.type("convert", "book.pdf", "--no-marks")
    assert "the existing file is now" in result.stderr
    assert (place / "book.md.1.bak").read_text() == "my own notes"
    sqlite_shell.ok("convert", "book.pdf")
    assert not (place / "book.md.2.bak").exists(), "what Fanfold wrote itself is simply replaced"


def test_bad_files_fail_with_a_sentence_and_stop_no_other(sqlite_shell: Shell, place: Path) -> None:
    book(place / "good.pdf", 1)
    make_broken(place / "broken.pdf")
    make_encrypted(place / "locked.pdf", "secret")
    (place / "empty.pdf").write_bytes(b"")
    (place / "page.pdf").write_text("<html><body>404</body></html>")
    make_blank(place / "blank.pdf")
    result = sqlite_shell.type("convert", ".", "nowhere.pdf")
    assert result.exit_code == 7
    assert "Traceback" not in result.output
    for told in (
        "There is no file nowhere.pdf",
        "empty.pdf is empty (0 bytes)",
        "locked.pdf is encrypted",
        "broken.pdf is damaged",
        "looks like a web page",
        "good.pdf → ",
        "blank.pdf → ",
        "4 documents failed: ",
    ):
        assert told in result.stderr
    assert (place / "good.md").exists()
    assert (place / "blank.md").exists()
    assert not (place / "broken.md").exists()


def test_nothing_there_is_said_and_nothing_begun(sqlite_shell: Shell, place: Path) -> None:
    result = sqlite_shell.type("convert", "nowhere.pdf", "*.pdf")
    assert (result.exit_code, "There is no file nowhere.pdf" in result.stderr) == (3, True)


def test_a_command_needs_no_folder_for_temporary_files(
    sqlite_shell: Shell, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a plain document nor an encrypted one: a full or missing TMPDIR is not a reason to fail."""
    monkeypatch.setattr(tempfile, "tempdir", str(place / "gone"))
    book(place / "book.pdf", 1)
    sqlite_shell.ok("convert", "book.pdf")
    make_encrypted(place / "locked.pdf", password="open-sesame")
    sqlite_shell.ok("convert", "locked.pdf", "--password", "open-sesame")
    assert (place / "locked.md").exists()


def test_a_password_opens_and_is_not_kept(sqlite_shell: Shell, place: Path) -> None:
    make_encrypted(place / "locked.pdf", "open-sesame", ["Behind the door."])
    wrong = sqlite_shell.type("convert", "locked.pdf", "--password", "wrong")
    assert (wrong.exit_code, "does not open locked.pdf" in wrong.stderr) == (1, True)
    bare = sqlite_shell.type("convert", "locked.pdf")
    assert (bare.exit_code, "is encrypted. Give its password" in bare.stderr) == (1, True)
    sqlite_shell.ok("convert", "locked.pdf", "--password", "open-sesame")
    assert "Behind the door" in (place / "locked.md").read_text()
    assert "open-sesame" not in json.dumps(sqlite_shell.json("tasks"))
    found = [path for path in sqlite_shell.data.rglob("*") if path.is_file() and b"open-sesame" in path.read_bytes()]
    assert found == []


def test_a_bad_range_names_the_pages_there_are(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf")
    result = sqlite_shell.type("convert", "book.pdf", "--pages", "7-9")
    assert result.exit_code == 1
    assert "2 pages" in result.stderr


def test_programs_get_json(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf")
    make_broken(place / "broken.pdf")
    result = sqlite_shell.type("convert", "book.pdf", "broken.pdf", "--json", "--per-page", "--report")
    good, bad = json.loads(result.stdout)["documents"]
    assert (result.exit_code, result.stderr) == (7, "")
    assert (good["pages"], good["engines"], good["failed"], good["target"]) == (2, {"text layer": 2}, [], "book.md")
    assert bad["problem"].startswith("broken.pdf is damaged")
    assert (place / "book.json").exists()
    assert sorted(os.listdir(place / "book-pages")) == ["page-0001.md", "page-0002.md"]


def test_a_model_does_the_pages_and_the_cost_is_shown(shell: Shell, place: Path, ai: AIServer) -> None:
    ai.answer(ANSWER)
    book(place / "book.pdf")
    result = shell.type("convert", "book.pdf", "--provider", "fake")
    assert (result.exit_code, len(ai.calls)) == (0, 2)
    assert "2 pages, $" in result.stderr
    assert "already done" in shell.type("convert", "book.pdf", "--model", "fake:fake-large").stderr
    assert len(ai.calls) == 2, "the same file with the same options is not paid for twice"
    shell.ok("convert", "book.pdf", "--provider", "fake", "--fresh")
    assert len(ai.calls) == 4
    [fresh, _] = shell.json("tasks")
    assert fresh["spending"]["calls"] == 2
    assert "fake:fake-large" in shell.ok("items", fresh["id"])
    assert " for 2 calls" in shell.ok("calls", fresh["id"])
    assert "for 2 calls; last: fake:fake-large" in shell.ok("show", fresh["id"])


def test_a_run_that_paid_nothing_shows_no_cost(sqlite_shell: Shell, place: Path, ai: AIServer) -> None:
    ai.answer(ANSWER)
    for name in ("one.pdf", "two.pdf"):
        book(place / name, 1)
    first = sqlite_shell.type("convert", "one.pdf", "two.pdf", "--provider", "fake")
    assert "2 documents, 2 pages, $" in first.stderr
    again = sqlite_shell.type("convert", "one.pdf", "two.pdf", "--provider", "fake")
    assert "2 documents, 2 pages\n" in again.stderr
    assert "$" not in again.stderr


def test_pages_that_fail_are_marked_listed_and_redone(shell: Shell, place: Path, ai: AIServer) -> None:
    make_scan(place / "scan.pdf", ["First scan", "Second scan", "Third scan"])
    ai.always("refusal")
    ai.next("answer", "answer")
    result = shell.type("convert", "scan.pdf", "--provider", "fake", "--ocr", "never", "--jobs", "1")
    assert result.exit_code == 7
    assert "scan.pdf → scan.md: 3 pages, 1 failed" in result.stderr
    assert "scan.pdf: page 3: " in result.stderr
    assert "To redo them: fanfold convert scan.pdf --provider fake --ocr never --jobs 1" in result.stderr
    assert "<!-- Page 3 is missing:" in (place / "scan.md").read_text()
    ai.always("answer")
    before = len(ai.calls)
    shell.ok("convert", "scan.pdf", "--provider", "fake", "--ocr", "never", "--jobs", "1")
    assert len(ai.calls) == before + 1, "only what failed is done again"
    assert "missing" not in (place / "scan.md").read_text()


def test_a_refused_key_pauses_and_the_same_command_goes_on(sqlite_shell: Shell, place: Path, ai: AIServer) -> None:
    ai.answer(ANSWER)
    book(place / "book.pdf", 4)
    ai.always("401")
    result = sqlite_shell.type("convert", "book.pdf", "--provider", "fake")
    assert result.exit_code == 9
    assert "Incorrect API key" in result.stderr
    assert "Once that is fixed: fanfold convert book.pdf --provider fake" in result.stderr
    ai.always("answer")
    sqlite_shell.ok("convert", "book.pdf", "--provider", "fake")
    assert len(ai.paid) == 4


def test_what_is_wrong_with_a_provider_is_said_before_anything_is_begun(
    sqlite_shell: Shell, place: Path, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    book(place / "book.pdf", 1)
    assert "Unknown provider 'nobody'" in sqlite_shell.fails(5, "convert", "book.pdf", "--provider", "nobody")
    assert "OPENAI_API_KEY" in sqlite_shell.fails(5, "convert", "book.pdf", "--provider", "openai")
    assert "no default model" in sqlite_shell.fails(5, "convert", "book.pdf", "--provider", "ollama")
    assert "--fallback needs a model" in sqlite_shell.fails(5, "convert", "book.pdf", "--fallback", "fake")
    assert sqlite_shell.json("tasks") == []


def test_providers_are_listed_and_tested(sqlite_shell: Shell, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KEY_ENV", "MY_KEY")
    listed = sqlite_shell.ok("providers")
    assert "MY_KEY: set" in listed
    assert "OPENAI_API_KEY: not set" in listed
    assert "sk-secret" not in listed + json.dumps(sqlite_shell.json("providers"))
    ai.answer("ready")
    assert "fake:fake-large answered in" in sqlite_shell.ok("providers", "test", "fake")
    ai.next("401")
    refused = sqlite_shell.type("providers", "test", "fake")
    assert (refused.exit_code, "Incorrect API key" in refused.stderr) == (1, True)
    assert "OPENAI_API_KEY" in sqlite_shell.fails(5, "providers", "test", "openai")
    assert "Unknown provider" in sqlite_shell.fails(5, "providers", "test", "nobody")


def test_the_raw_answers_that_were_bad_can_be_read(sqlite_shell: Shell, place: Path, ai: AIServer) -> None:
    ai.answer(ANSWER)
    ai.next("refusal")
    book(place / "book.pdf", 1)
    sqlite_shell.ok("convert", "book.pdf", "--provider", "fake")
    [task] = sqlite_shell.json("tasks")
    assert "I'm sorry" in sqlite_shell.ok("calls", task["id"], "--raw")
    assert [call["outcome"] for call in sqlite_shell.json("calls", task["id"], "--item", "1")["calls"]] == [
        "refusal",
        "taken",
    ]


def test_odd_names_are_read_like_others(sqlite_shell: Shell, place: Path) -> None:
    text = f"Plain text of the page: {WORDS}."
    for name in ("报告.pdf", "no ending", "we\\ird.pdf", "new\nline.pdf"):
        make_pdf(place / name, [text])
    make_pdf(place / os.fsdecode(b"caf\xe9.pdf"), [text])
    result = sqlite_shell.type("convert", ".", "no ending", "--ocr", "never")
    assert result.exit_code == 0, result.output
    made = sorted(place.glob("*.md"))
    assert len(made) == 5
    assert all("Plain text of the page" in path.read_text() for path in made)


def test_what_is_not_a_file_is_said_and_not_waited_for(sqlite_shell: Shell, place: Path) -> None:
    os.mkfifo(place / "pipe")
    (place / "empty").mkdir()
    result = sqlite_shell.type("convert", "pipe", "empty", "ftp://example.org/a.pdf", "http://127.0.0.1:9/a.pdf")
    assert result.exit_code == 3
    for told in (
        "pipe is not a file",
        "There are no documents in empty",
        "download the file first",
        "127.0.0.1, which is not public. To allow it: FANFOLD_PRIVATE_ADDRESSES",
    ):
        assert told in result.stderr


def test_the_pdf_itself_is_never_the_target(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf", 1)
    assert "is the document itself" in sqlite_shell.fails(5, "convert", "book.pdf", "-o", "book.pdf")
    assert "overwrite" in sqlite_shell.type("convert", "book.pdf", "-o", "x.json", "--report").stderr
    assert (place / "book.pdf").read_bytes().startswith(b"%PDF")


def test_another_document_does_not_overwrite_the_first(sqlite_shell: Shell, place: Path) -> None:
    book(place / "a" / "r.pdf", 1)
    (place / "c").mkdir()
    make_pdf(place / "c" / "r.pdf", ["Another one."])
    sqlite_shell.ok("convert", "a/r.pdf", "-o", "out/")
    sqlite_shell.ok("convert", "c/r.pdf", "-o", "out/")
    assert "Ar says" in (place / "out" / "r.md").read_text()
    assert "Another one" in (place / "out" / "r-2.md").read_text()
    again = sqlite_shell.type("convert", "c/r.pdf", "-o", "out/")
    assert "out/r-2.md" in again.stderr
    assert sorted(os.listdir(place / "out")) == ["r-2.md", "r.md"], "each finds its own again"


def test_a_named_file_of_another_document_is_kept_and_said_also_when_all_was_done_before(
    sqlite_shell: Shell, place: Path
) -> None:
    book(place / "a" / "r.pdf", 1)
    (place / "c").mkdir()
    make_pdf(place / "c" / "r.pdf", ["Another one."])
    for _ in ("done now", "done before"):
        sqlite_shell.ok("convert", "a/r.pdf", "-o", "x.md")
        result = sqlite_shell.type("convert", "c/r.pdf", "-o", "x.md")
        assert "the existing file is now x.md." in result.stderr
    assert "Ar says" in (place / "x.md.1.bak").read_text()


def test_an_edited_result_is_left_alone_and_said_when_it_was_done_before(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf", 1)
    sqlite_shell.ok("convert", "book.pdf")
    (place / "book.md").write_text("my own notes")
    result = sqlite_shell.type("convert", "book.pdf")
    assert "you have edited book.md: left unchanged" in result.stderr
    assert (place / "book.md").read_text() == "my own notes"
    assert not (place / "book.md.1.bak").exists()
    fresh = sqlite_shell.type("convert", "book.pdf", "--fresh")
    assert "the existing file is now book.md.1.bak" in fresh.stderr
    assert "Abook says" in (place / "book.md").read_text()
    assert (place / "book.md.1.bak").read_text() == "my own notes"


def test_commands_at_the_same_time_lose_none_of_each_others_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both check before they write: neither replaces what the other has just written."""
    look = saving._standing

    def look_slowly(*words: Any) -> Any:
        found = look(*words)
        time.sleep(0.1)  # The others check meanwhile, if they can.
        return found

    monkeypatch.setattr(saving, "_standing", look_slowly)
    shelf = Shelf(tmp_path)
    files = {name: shelf.kept(name, name * 20) for name in ("a", "b", "c", "d")}
    savings = [Saving(tmp_path / "data") for _ in files]
    with ThreadPoolExecutor(4) as threads:
        together = zip(savings, files.items(), strict=True)
        list(
            threads.map(
                lambda one: one[0].save(
                    saving.whole(one[1][1], tmp_path / "out.md"), tmp_path / "out.md", tmp_path / one[1][0]
                ),
                together,
            )
        )
    found = sorted(path.read_text()[0] for path in tmp_path.glob("out.md*"))
    assert found == ["a", "b", "c", "d"]


class Shelf:
    """Files in a folder, as results are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def kept(self, name: str, text: str) -> File:
        (self.folder / name).write_text(text)
        return File(name, name, len(text), self)

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        return (self.folder / key).open("rb")

    def local(self, key: str) -> Path | None:
        return self.folder / key

    def link(self, key: str) -> str | None:
        return None

    def where(self, key: str) -> str:
        return str(self.folder / key)

    def path(self, key: str, size: int | None = None) -> Path:
        return self.folder / key


def test_a_decision_about_a_page_merges_here_and_writes_the_saved_file_again(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf")
    sqlite_shell.ok("convert", "book.pdf", "--per-page")
    [task] = sqlite_shell.json("tasks")
    [first, _] = sqlite_shell.json("items", task["id"])
    answer = sqlite_shell.json("decide", task["id"], first["key"], "all of it", "accept")
    pages = place / "book-pages"
    assert answer["task"]["state"] == "completed"
    assert sorted(answer["rewritten"]) == sorted(map(str, (*pages.iterdir(), place / "book.md")))
    (place / "book.md").write_text("my own")
    answer = sqlite_shell.json("decide", task["id"], first["key"], "all of it", "reject")
    assert answer["left"] == [str(place / "book.md")]
    assert (place / "book.md").read_text() == "my own"


def test_page_files_of_an_earlier_range_go_and_edited_ones_stay(sqlite_shell: Shell, place: Path) -> None:
    book(place / "book.pdf", 3)
    sqlite_shell.ok("convert", "book.pdf", "--per-page")
    (place / "book-pages" / "page-0003.md").write_text("my own")
    sqlite_shell.ok("convert", "book.pdf", "--per-page", "--pages", "1")
    assert sorted(os.listdir(place / "book-pages")) == ["page-0001.md", "page-0003.md"]


def test_it_works_on_nothing_that_was_not_asked_for(sqlite_shell: Shell, place: Path, ai: AIServer) -> None:
    ai.answer(ANSWER)
    big, small = book(place / "big.pdf", 3), book(place / "small.pdf", 1)
    waiting = sqlite_shell.ok("submit", "pdf", str(big), "--option", "provider=fake").strip()
    sqlite_shell.ok("convert", str(small))
    assert ai.calls == []
    assert sqlite_shell.json("show", waiting)["state"] == "active"


def test_pages_that_no_model_could_read_are_named_and_end_with_7(
    sqlite_shell: Shell, place: Path, ai: AIServer
) -> None:
    ai.always("refusal")
    book(place / "book.pdf", 2)
    result = sqlite_shell.type("convert", "book.pdf", "--provider", "fake")
    assert result.exit_code == 7
    assert "2 pages, 2 degraded" in result.stderr
    assert "pages 1, 2 degraded: text layer instead of a model" in result.stderr
    [task] = sqlite_shell.json("tasks")
    assert f"fanfold retry {task['id']} --degraded" in result.stderr
    answer = sqlite_shell.type("convert", "book.pdf", "--provider", "fake", "--json")
    assert answer.exit_code == 7, "done before is not done well"
    [document] = json.loads(answer.stdout)["documents"]
    assert [page["page"] for page in document["degraded"]] == [1, 2]
    ai.always("answer")
    ai.answer(ANSWER)
    sqlite_shell.ok("retry", task["id"], "--degraded")
    sqlite_shell.ok("convert", "book.pdf", "--provider", "fake")
    assert sqlite_shell.json("show", task["id"])["degraded"] == 0


def test_begun_anew_the_old_one_is_left(sqlite_shell: Shell, place: Path, ai: AIServer) -> None:
    ai.answer(ANSWER)
    book(place / "book.pdf", 2)
    ai.always("401")
    sqlite_shell.type("convert", "book.pdf", "--provider", "fake")
    ai.always("answer")
    sqlite_shell.ok("convert", "book.pdf", "--provider", "fake", "--fresh")
    assert len(ai.paid) == 2
    assert sorted(task["state"] for task in sqlite_shell.json("tasks")) == ["cancelled", "completed"]


def test_a_retry_with_a_mistake_in_it_changes_nothing(sqlite_shell: Shell, place: Path, ai: AIServer) -> None:
    ai.answer(ANSWER)
    book(place / "book.pdf", 2)
    sqlite_shell.ok("convert", "book.pdf", "--provider", "fake")
    [task] = sqlite_shell.json("tasks")
    assert "Unknown option modle" in sqlite_shell.fails(5, "retry", task["id"], "--item", "2", "--option", "modle=x")
    assert sqlite_shell.json("show", task["id"])["state"] == "completed"
    sqlite_shell.ok("retry", task["id"], "--item", "2", "--option", "provider=local")
    sqlite_shell.ok("convert", "book.pdf", "--provider", "fake")
    assert len(ai.calls) == 2, "the text layer costs nothing"
    assert sqlite_shell.json("output", task["id"], "2")["engine"] == "text layer"


def test_an_unknown_provider_is_refused_where_it_is_named(sqlite_shell: Shell, place: Path, ai: AIServer) -> None:
    ai.answer(ANSWER)
    book(place / "book.pdf", 2)
    sqlite_shell.ok("convert", "book.pdf", "--provider", "fake")
    [task] = sqlite_shell.json("tasks")
    for words in (("retry", task["id"], "--item", "2"), ("submit", "pdf", "book.pdf"), ("run", "pdf", "book.pdf")):
        said = sqlite_shell.fails(5, *words, "--option", "provider=nix")
        assert "Unknown provider 'nix'. Known providers: openai" in said
        assert "[providers.nix] in fanfold.toml" in said
    assert [one["state"] for one in sqlite_shell.json("tasks")] == ["completed"]
    sqlite_shell.ok("retry", task["id"], "--item", "2", "--option", "provider=fake")
    sqlite_shell.ok("convert", "book.pdf", "--provider", "fake")
    assert len(ai.calls) == 3


def test_flags_that_contradict_each_other_are_refused(sqlite_shell: Shell, place: Path, ai: AIServer) -> None:
    book(place / "book.pdf", 1)

    def refused(*words: str) -> str:
        return sqlite_shell.fails(5, "convert", "book.pdf", *words)

    assert "--provider says fake but --model says openai" in refused("--provider", "fake", "--model", "openai:x")
    assert "must come last" in refused("--provider", "fake", "--fallback", "local", "--fallback", "fake:fake-small")
    assert "--pages is empty" in refused("--pages", " ")
    assert "Use only one" in sqlite_shell.type("convert", "book.pdf", "-o", "-", "--json").stdout


def test_what_was_done_before_needs_no_worker_and_few_queries(
    sqlite_shell: Shell, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        book(place / f"b{number}.pdf", 1)
    sqlite_shell.ok("convert", *(f"b{number}.pdf" for number in range(12)), "-o", "out/")
    reads: list[Store] = []
    real = Store.read

    def read(store: Store) -> AbstractContextManager[Transaction]:
        reads.append(store)
        return real(store)

    monkeypatch.setattr(Store, "read", read)
    monkeypatch.setattr(
        Children, "warm", lambda _children, count: pytest.fail("a process was started") if count else None
    )
    monkeypatch.setattr(conducting, "run_all", lambda *_: pytest.fail("there was nothing to do"))
    result = sqlite_shell.type("convert", *(f"b{number}.pdf" for number in range(12)), "-o", "out/")
    assert result.exit_code == 0
    assert result.stderr.count("already done") == 12
    assert len(reads) < 6


def test_other_documents_become_blocks_chunks_or_a_web_page(sqlite_shell: Shell, place: Path) -> None:
    (place / "page.html").write_text("<title>T</title><h1>Head</h1><p>Some text.</p>")
    sqlite_shell.ok("convert", "page.html", "--to", "json", "--chunks", "100")
    found = json.loads((place / "page.json").read_text())
    assert [(block["kind"], block["text"]) for block in found["blocks"]] == [
        ("heading", "Head"),
        ("paragraph", "Some text."),
    ]
    assert (found["title"], found["source"], len(found["sha256"])) == ("T", "page.html", 64)
    [chunk] = (place / "page.chunks.jsonl").read_text().splitlines()
    assert json.loads(chunk) == {"chunk": 1, "headings": ["Head"], "pages": [1, 1], "text": "Some text."}
    sqlite_shell.ok("convert", "page.html", "--to", "html", "-o", "out.html", "--front-matter")
    assert "<h1>Head</h1>" in (place / "out.html").read_text()
    task = sqlite_shell.json("tasks")[0]["id"]
    assert json.loads(sqlite_shell.ok("result", task, "--form", "json", "-o", "-"))["blocks"] == found["blocks"]
    assert "is the document itself" in sqlite_shell.fails(5, "convert", "page.html", "--to", "html")
    piped = sqlite_shell.type("convert", "-", "--no-marks", input="<html><p>From a pipe</p></html>")
    assert (piped.exit_code, piped.stdout) == (0, "From a pipe\n")


def test_quick_documents_do_not_wait_behind_scans(sqlite_shell: Shell, place: Path) -> None:
    make_scan(place / "a-scan.pdf", [f"Page {number} of a scan" for number in range(2)])
    for number in range(3):
        book(place / f"b{number}.pdf", 1)
    result = sqlite_shell.type("convert", "a-scan.pdf", "b0.pdf", "b1.pdf", "b2.pdf", "--jobs", "1")
    finished = [line.partition(".pdf")[0] for line in result.stderr.splitlines() if " → " in line]
    assert finished[-1] == "a-scan"
    assert sorted(finished[:-1]) == ["b0", "b1", "b2"]


def test_a_single_small_file_starts_one_process_and_more_files_start_more(tmp_path: Path) -> None:
    small, large = tmp_path / "small.pdf", tmp_path / "large.pdf"
    small.write_bytes(b"x")
    large.write_bytes(bytes(SMALL_FILE))
    one, other = Source(small, tmp_path), Source(large, tmp_path)
    assert [warm_for(found, 2) for found in ([one], [other], [one, one])] == [1, 2, 2]
