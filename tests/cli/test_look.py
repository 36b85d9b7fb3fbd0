"""The commands that show things are correct, for people and for programs."""

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

from fanfold.engine.client import Client
from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import SAMPLES, Shell


def test_submit_prints_the_id_and_the_same_key_gives_the_same_task(shell: Shell) -> None:
    one = shell.submit(
        "words", "a", "--key", "k", "--priority", "3", "--tag", "x", "--tag", "y", "--owner", "eve", "--title", "T"
    )
    assert shell.submit("words", "a", "--key", "k", "--owner", "eve") == one
    assert shell.submit("words", "b", "--key", "k") != one
    task = shell.json("show", one)
    assert (task["priority"], task["tags"], task["owner"], task["title"], task["key"]) == (
        3,
        ["x", "y"],
        "eve",
        "T",
        "k",
    )


def test_tasks_are_filtered_and_paged(shell: Shell) -> None:
    words = [shell.submit("words", "a", "--title", f"number {n}") for n in range(3)]
    other = shell.submit("add", "1", "--tag", "sum", "--owner", "eve")
    shell.ok("pause", words[0])

    def ids(*filters: str) -> list[str]:
        return [task["id"] for task in shell.json("tasks", *filters)]

    assert ids() == [other, *reversed(words)]
    assert ids("--state", "paused") == [words[0]]
    assert ids("--state", "paused", "--state", "active", "--pipeline", "words") == list(reversed(words))
    assert ids("--tag", "sum") == ids("--owner", "eve") == ids("--pipeline", "add") == [other]
    assert ids("--text", "NUMBER 1") == [words[1]]
    assert ids("--limit", "2") == [other, words[2]]
    assert ids("--limit", "2", "--after", words[2]) == [words[1], words[0]]
    page = shell.type("tasks", "--limit", "2")
    assert f"More: --after {words[2]}" in page.stderr
    assert ids("--sort", "oldest") == [*words, other]
    assert ids("--sort", "updated") == [words[0], other, words[2], words[1]]
    assert ids("--sort", "updated", "--after", other) == [words[2], words[1]]
    page = shell.type("tasks", "--limit", "2", "--sort", "updated")
    assert f"More: --sort updated --after {other}" in page.stderr


def test_a_list_for_people_has_whole_ids_and_no_colours(shell: Shell) -> None:
    task = shell.submit("words", "a", "--title", "two\nlines \x1b[31mred")
    printed = shell.ok("tasks")
    assert printed.splitlines()[0].split() == [
        "id",
        "pipeline",
        "status",
        "progress",
        "done",
        "failed",
        "degraded",
        "created",
        "title",
        "waits",
    ]
    assert "no worker serves stage" in printed
    assert task in printed
    assert printed.count("\n") == 2
    assert "\x1b" not in printed


def test_nothing_there_is_said_beside_the_output(shell: Shell) -> None:
    for command, said in (("tasks", "No tasks."), ("workers", "No workers.")):
        result = shell.type(command)
        assert (result.stdout, result.exit_code) == ("", 0)
        assert said in result.stderr
        assert shell.json(command) == []


def test_show_tells_state_stages_failures_and_what_can_be_done(shell: Shell) -> None:
    task = shell.submit("words", "a", "bad", "--option", "n=1")
    shell.tick("words")
    printed = shell.ok("show", task[:6])
    for part in ("partial", "1 of 2 done, 1 failed", "no such word", '{"n": 1}', f"fanfold merge {task}"):
        assert part in printed
    found = shell.json("show", task)
    assert found["available_commands"] == ["merge", "cancel", "retry", "rerun", "delete"]
    assert datetime.fromisoformat(found["created_at"]).tzinfo == UTC


def test_items_are_filtered_and_paged(shell: Shell) -> None:
    task = shell.submit("words", "a", "bad", "c")
    shell.tick("words")

    def keys(*filters: str) -> list[str]:
        return [item["key"] for item in shell.json("items", task, *filters)]

    assert keys() == ["1", "2", "3"]
    assert keys("--state", "failed") == ["2"]
    assert keys("--key", "1", "--key", "3") == ["1", "3"]
    assert keys("--limit", "1", "--after", "1") == ["2"]
    assert keys("--stage", "shout") == ["1", "2", "3"]
    assert "no such word" in shell.ok("items", task)
    assert "There is no stage 'odd'" in shell.fails(Exit.NOT_FOUND, "items", task, "--stage", "odd")
    assert "Unknown item state odd" in shell.fails(Exit.BAD_INPUT, "items", task, "--state", "odd")


def test_events_tell_who_did_what_and_why(shell: Shell) -> None:
    task = shell.submit("words", "a")
    shell.ok("pause", task, "--reason", "lunch")
    printed = shell.ok("events", task)
    assert "pause (active → paused)" in printed
    assert "lunch" in printed
    events = shell.json("events", task)
    assert [event["verb"] for event in events] == ["submit", "pause"]
    assert shell.json("events", task, "--after", str(events[0]["id"])) == events[1:]


def test_events_are_followed_until_the_end(shell: Shell) -> None:
    task = shell.submit("words", "a")
    ticking = threading.Thread(target=tick_with, args=(shell,))
    ticking.start()
    lines = shell.ok("events", task, "--follow", "--json").splitlines()
    ticking.join()
    assert [json.loads(line)["verb"] for line in lines] == ["submit", "advance", "advance"]


def tick_with(shell: Shell) -> None:
    """A tick in another thread, by a client of its own."""
    from fanfold.engine.tasks.recovery.tick import tick
    from tests.cli import samples

    with shell.client() as client:
        tick(client.store, [samples.words])


def test_wait_ends_with_the_state_in_its_exit_code(shell: Shell) -> None:
    done, partial, paused = shell.submit("words", "a"), shell.submit("words", "a", "bad"), shell.submit("gated")
    assert "is still" in shell.fails(Exit.TIMEOUT, "wait", done, "--timeout", "0")
    shell.tick("words", "gated")
    assert shell.ok("wait", done) == f"{done} is completed\n"
    assert shell.type("wait", partial).exit_code == Exit.PARTIAL
    assert shell.type("wait", paused).exit_code == Exit.WAITING
    assert shell.json("wait", done)["state"] == "completed"
    cancelled = shell.submit("words", "a")
    shell.ok("cancel", cancelled)
    assert shell.type("wait", cancelled).exit_code == Exit.FAILED


def test_a_result_is_printed_written_or_copied(shell: Shell, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("one\ntwo\n")
    file, value, numbers = shell.submit("pages", str(source)), shell.submit("words", "a"), shell.submit("add", "1")
    shell.tick("pages", "words", "add")
    assert shell.ok("result", file) == "- one\n- two\n"
    assert shell.ok("result", value) == "A\n"
    assert shell.ok("result", numbers) == "2\n"
    shell.ok("result", file, "-o", str(tmp_path))
    assert (tmp_path / "list.md").read_text() == "- one\n- two\n"
    shell.ok("result", value, "-o", str(tmp_path / "value.txt"))
    assert (tmp_path / "value.txt").read_text() == "A\n"
    shell.ok("result", value, "-o", str(tmp_path))
    assert json.loads((tmp_path / "result.json").read_text()) == "A"
    assert shell.ok("result", value, "-o", "-") == "A\n"
    answer = shell.json("result", file)
    assert Path(answer["result"]["path"]).read_text() == "- one\n- two\n"
    assert answer["missing"] == []
    assert "Cannot write" in shell.fails(Exit.BAD_INPUT, "result", value, "-o", str(tmp_path / "no" / "such"))


def test_a_result_says_what_is_missing_in_it(shell: Shell) -> None:
    task = shell.submit("words", "a", "bad")
    shell.tick("words")
    assert "has no result" in shell.fails(Exit.PARTIAL, "result", task)
    shell.ok("merge", task)
    shell.tick("words")
    result = shell.type("result", task)
    assert result.stdout == "A\n"
    assert "Missing from the result: 1 item\n  2: no such word" in result.stderr
    assert json.loads(shell.type("result", task, "--json").stdout)["missing"] == [
        {"key": "2", "code": "permanent", "message": "no such word"}
    ]


def test_the_output_of_one_item_is_printed(shell: Shell) -> None:
    task = shell.submit("words", "a", "b")
    shell.tick("words")
    assert shell.ok("output", task, "2") == "B\n"
    assert shell.json("output", task, "1") == "A"
    assert shell.ok("output", task, "1", "--stage", "join") == "A B\n"
    assert "has no item 9" in shell.fails(Exit.NOT_FOUND, "output", task, "9")


def test_streamed_pieces_come_in_order(shell: Shell) -> None:
    task = shell.submit("words", "a", "b")
    assert shell.ok("stream", task, "--no-follow") == ""
    shell.tick("words")
    assert shell.ok("stream", task) == "a b "
    lines = [json.loads(line) for line in shell.ok("stream", task, "--json").splitlines()]
    assert lines == [{"key": "1", "value": "a "}, {"key": "2", "value": "b "}]


def test_top_shows_one_snapshot_where_there_is_no_terminal(shell: Shell) -> None:
    task = shell.submit("words", "a")
    printed = shell.ok("top")
    assert printed.startswith("1 active task, 1 item pending")
    assert task in printed
    snapshot = shell.json("top", "--once")
    assert snapshot["metrics"]["queue"] == 1
    assert snapshot["tasks"][0]["id"] == task


def test_metrics_and_pipelines(shell: Shell, client: Client) -> None:
    shell.submit("words", "a", "bad")
    shell.tick("words")
    assert shell.json("metrics")["tasks"] == {"partial": 1}
    assert "1 partial" in shell.ok("metrics")
    demo = next(pipeline for pipeline in shell.json("pipelines") if pipeline["name"] == "demo")
    assert [stage["kind"] for stage in demo["stages"]] == ["split", "each", "merge"]
    assert "pages → convert → bind" in shell.ok("pipelines")


def test_shared_options_may_come_first_or_last(sqlite_shell: Shell) -> None:
    sqlite_shell.ok("run", f"{SAMPLES}:words", "a")
    del sqlite_shell.environment["FANFOLD_DATABASE"]
    place = ("--database", sqlite_shell.database)
    assert sqlite_shell.json(*place, "tasks") == sqlite_shell.json("tasks", *place) != []
    assert json.loads(sqlite_shell.ok("--json", "tasks", *place))[0]["pipeline"] == "words"
