"""What `fanfold proofread` and `fanfold translate` write, and what they say before anything is stored or paid."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ai_server import AIServer
from tests.apps.proofread.answering import in_english, replacing, served
from tests.apps.proofread.archives import ONE, epub, members_of
from tests.cli.shell import Shell
from tests.conftest import environment_of

pytestmark = pytest.mark.one_database

NOVEL = "It was a dark and stormy nigth.\n\nThe rain fell in torrents.\n"
CORRECT = replacing(("nigth", "night"))
CHINESE = ONE.replace("<pre>  code stays  </pre>", "<pre><code>code stays</code></pre>")
"""A book whose only English words are code, which is not translated."""


@pytest.fixture
def ai(monkeypatch: pytest.MonkeyPatch) -> Iterator[AIServer]:
    with AIServer() as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        server.answer(served(CORRECT))
        yield server


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "books" / "novel.txt"
    path.parent.mkdir()
    path.write_text(NOVEL)
    return path


def test_the_corrected_book_is_saved_beside_its_source(shell: Shell, ai: AIServer, novel: Path) -> None:
    told = shell.type("proofread", str(novel))
    assert told.exit_code == 0, told.output
    assert novel.with_name("novel.proofread.txt").read_text() == CORRECT(NOVEL)
    assert "1 chunk" in told.stderr
    assert len(ai.calls) == 1


@pytest.mark.parametrize("words", [("proofread",), ("translate", "--to", "zh")])
def test_an_estimate_needs_no_key_and_no_running_service(
    sqlite_shell: Shell, novel: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    typed = (*words, str(novel))
    assert "live" in sqlite_shell.ok(*typed, "--provider", "openai", "--estimate")
    assert "needs a key" in sqlite_shell.fails(5, *typed, "--provider", "openai", "--sample", "1")
    assert "live" in sqlite_shell.ok(*typed, "--model", "ollama:llama3", "--estimate")
    assert sqlite_shell.json("tasks") == []


def test_a_folder_is_searched_for_books_but_not_for_results(shell: Shell, ai: AIServer, novel: Path) -> None:
    folder = str(novel.parent)
    for _ in range(2):
        shell.ok("proofread", folder)
    assert sorted(path.name for path in novel.parent.glob("*.txt")) == ["novel.proofread.txt", "novel.txt"]
    assert len(ai.calls) == 1


def test_a_translation_that_stopped_for_its_terms_continues_to_the_end(
    shell: Shell, ai: AIServer, tmp_path: Path
) -> None:
    (tmp_path / "book.epub").write_bytes(epub(CHINESE))
    ai.answer(served(in_english))
    typed = ("translate", str(tmp_path / "book.epub"), "--to", "en", "--terms", "never")
    shell.type(*typed, "--no-straight-through")
    assert [task["state"] for task in shell.json("tasks")] == ["waiting"]
    assert not (tmp_path / "book.en.epub").exists()
    shell.ok(*typed)
    assert [task["state"] for task in shell.json("tasks")] == ["completed"]
    assert (tmp_path / "book.en.epub").exists()


def test_a_book_is_translated_in_its_format(shell: Shell, ai: AIServer, tmp_path: Path) -> None:
    book = tmp_path / "book.epub"
    book.write_bytes(epub(CHINESE))
    ai.answer(served(in_english))
    told = shell.type("translate", str(book), "--to", "en", "--terms", "never")
    assert told.exit_code == 0, told.output
    members = members_of((tmp_path / "book.en.epub").read_bytes())
    assert "<dc:language>en</dc:language>" in members["OEBPS/book.opf"].decode()
    assert '<p><span class="x">It rained&amp;It rained' in members["OEBPS/text/one page.xhtml"].decode()


def test_a_paragraph_that_is_not_translated_stays_and_is_listed(shell: Shell, ai: AIServer, novel: Path) -> None:
    ai.answer(served(lambda text: text))
    told = shell.type("translate", str(novel), "--to", "zh", "--terms", "never")
    assert told.exit_code == 7, told.output
    assert "the answer is the source itself" in told.stderr
    assert novel.with_name("novel.zh.txt").read_text() == NOVEL


def test_a_translation_without_a_language_names_the_option(shell: Shell, novel: Path) -> None:
    assert "--to zh" in shell.type("translate", str(novel)).output


def test_changes_are_listed_and_a_rejected_one_is_gone_from_the_saved_book(
    shell: Shell, ai: AIServer, novel: Path
) -> None:
    shell.ok("proofread", str(novel))
    [task] = shell.json("tasks")
    [change] = shell.json("changes", task["id"])
    assert (change["before"], change["after"], change["state"]) == ("nigth", "night", "open")
    assert change["origin"] == "model:fake:fake-large"
    assert "[nigth → night]" in shell.ok("changes", task["id"])
    shell.ok("decide", task["id"], change["item"], change["part"], "reject")
    assert novel.with_name("novel.proofread.txt").read_text() == NOVEL
    assert [one["state"] for one in shell.json("changes", task["id"], "--state", "reject")] == ["reject"]
    assert len(ai.calls) == 1


def test_all_changes_of_a_kind_are_decided_by_piping_the_list(shell: Shell, ai: AIServer, tmp_path: Path) -> None:
    novel = tmp_path / "雨.txt"
    novel.write_text("　　雨,停了好久--走。\n\n　　天亮了,走吧。\n")
    shell.ok("proofread", str(novel))
    [task] = shell.json("tasks")
    decisions = shell.ok("changes", task["id"], "--origin", "punctuation_width", "--as", "reject")
    assert len(decisions.splitlines()) == 2
    shell.ok("decide", task["id"], "--from", "-", input=decisions)
    assert novel.with_name("雨.proofread.txt").read_text() == "　　雨,停了好久——走。\n\n　　天亮了,走吧。\n"


def test_rules_are_switched_off_and_on_by_their_sign(sqlite_shell: Shell, tmp_path: Path) -> None:
    novel = tmp_path / "雨.txt"
    novel.write_text("雨,停了。\n")
    sqlite_shell.ok("proofread", str(novel), "--rules-only", "--rules", "-indentation", "--rules", "+latin_spacing")
    assert novel.with_name("雨.proofread.txt").read_text() == "雨，停了。\n"


def test_rules_are_listed_with_their_state(sqlite_shell: Shell) -> None:
    rules = {rule["name"]: rule for rule in sqlite_shell.json("rules")}
    assert (rules["dashes"]["state"], rules["quotes"]["state"]) == ("on", "off")
    assert "低声道——走" in sqlite_shell.ok("rules")
