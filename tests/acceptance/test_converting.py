"""A conversion survives kills, a bad service and busy neighbours, and pays for each page once."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.ai_protocol import Call, Reply, too_many_requests
from tests.ai_server import AIServer
from tests.apps.pdf.making import make_pdf
from tests.cli.conftest import shell_on
from tests.cli.shell import Shell
from tests.conftest import environment_of
from tests.waiting import eventually

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"


@pytest.fixture
def shell(database_url: str, tmp_path: Path) -> Iterator[Shell]:
    """Commands in processes of their own."""
    yield from shell_on(database_url, tmp_path / "data")


def book(path: Path, pages: int) -> Path:
    """No two pages look alike."""
    return make_pdf(
        path, [f"{n} {'abcdefghij'[n % 10]}{n * 7919} {WORDS} {WORDS} {n * 104729}" for n in range(1, pages + 1)]
    )


def whole(call: Call) -> str:
    return f"# Seen {call.images[0][:12]}\n\n{WORDS} {WORDS} {WORDS} {WORDS}"


def test_killed_in_the_middle_it_goes_on_without_redoing_a_page(shell: Shell, tmp_path: Path) -> None:
    pages = 42
    source = book(tmp_path / "long.pdf", pages)
    words = ("convert", str(source), "--provider", "fake")
    with AIServer() as ai:
        ai.answer(whole)
        ai.next(*["answer"] * (pages // 3))
        ai.always("held")
        started = shell.start(*words, **environment_of(ai))
        eventually(lambda: ai.given["held"] and len(ai.paid) == pages // 3, 100)
        children = psutil.Process(started.pid).children(recursive=True)
        os.kill(started.pid, signal.SIGKILL)
        started.wait(60)
        in_flight = 8
        ai.always("answer")
        finished = shell.start(*words, **environment_of(ai))
        _, said = finished.communicate(timeout=100)
        assert finished.returncode == 0, said
        assert pages <= len(ai.paid) <= pages + in_flight, "only what was in flight at the kill may be asked again"
        assert len(ai.paid_by_image) == pages
        [task] = shell.json("tasks")
        again = len(ai.calls) - pages
        assert task["spending"]["calls"] == pages
        # A call that was recorded but not yet sent when the process died counts too: the two cannot be told apart.
        assert again <= task["spending"]["possibly_paid"] <= in_flight, "what was in flight is counted"
    text = (tmp_path / "long.md").read_text()
    assert text.count("<!-- Page ") == pages
    assert text.count("# Seen ") == pages
    eventually(lambda: not [child for child in children if child.is_running()], 60)  # Children end with their parent.


@pytest.mark.one_database
def test_killed_between_a_bad_answer_and_the_second_it_does_not_pay_for_the_first_again(
    shell: Shell, tmp_path: Path
) -> None:
    pages = 4
    source = book(tmp_path / "bad.pdf", pages)
    words = ("convert", str(source), "--provider", "fake")

    def is_first(call: Call) -> bool:
        return "temperature" not in call.parameters

    with AIServer() as ai:
        ai.answer(lambda call: Reply(text="") if is_first(call) else Reply(text=whole(call), held=True))
        started = shell.start(*words, **environment_of(ai))
        eventually(lambda: ai.waiting == pages, 100, state=lambda: (ai.waiting, ai.given, shell.state()))
        os.kill(started.pid, signal.SIGKILL)
        started.wait(60)
        ai.release()
        finished = shell.start(*words, **environment_of(ai))
        _, said = finished.communicate(timeout=100)
        assert finished.returncode == 0, said
        assert [is_first(call) for call in ai.paid].count(True) == pages, "each first answer was paid for once"
        [task] = shell.json("tasks")
        assert task["spending"]["calls"] == 2 * pages
    assert (tmp_path / "bad.md").read_text().count("# Seen ") == pages


@pytest.mark.one_database
def test_a_bad_service_costs_time_but_no_page(shell: Shell, tmp_path: Path) -> None:
    pages = 24
    source = book(tmp_path / "bad.pdf", pages)
    with AIServer() as ai:
        ai.answer(whole)
        ai.next("hang", "500", "length")
        # A cut-off answer is requested once more, then the page falls back, so no page gets two of them by chance.
        ai.mix({"429-soon": 0.30, "500": 0.05}, seed=7)
        patient = environment_of(ai) | {"FANFOLD_PROVIDERS_FAKE_TIMEOUT": "20"}
        done = shell.start("convert", str(source), "--provider", "fake", "--json", **patient)
        said, errors = done.communicate(timeout=240)
        assert done.returncode == 0, errors + said
        given = ai.given
        assert given["answer"] == pages, "each page was answered once"
        assert len(ai.paid) == pages + given["length"], "cut-off answers are paid as well, nothing else is"
        assert len(ai.calls) == pages + given["429"] + given["500"] + given["hang"] + given["length"]
        assert given["429"] > pages / 10
    assert '"failed": []' in said


@pytest.mark.one_database
def test_the_same_page_twice_costs_one_call(shell: Shell, tmp_path: Path) -> None:
    page = f"The same {WORDS} {WORDS}"
    make_pdf(tmp_path / "memo.pdf", [page, page, page])
    with AIServer() as ai:
        ai.answer(whole)
        done = shell.start("convert", str(tmp_path / "memo.pdf"), "--provider", "fake", **environment_of(ai))
        _, said = done.communicate(timeout=100)
        assert done.returncode == 0, said
        assert len(ai.calls) == 1


@pytest.mark.one_database
def test_interrupted_it_says_how_to_go_on(shell: Shell, tmp_path: Path) -> None:
    source = book(tmp_path / "slow.pdf", 20)
    with AIServer() as ai:
        ai.answer(whole)
        ai.always(too_many_requests(2))
        ai.next(*["answer"] * 5)
        started = shell.start("convert", str(source), "--provider", "fake", **environment_of(ai))
        eventually(lambda: ai.given["429"] >= 1, 60)
        started.send_signal(signal.SIGINT)
        read_line = started.stderr.readline if started.stderr else str
        eventually(lambda: "interrupt again to stop immediately" in read_line(), 60)
        started.send_signal(signal.SIGINT)
        _, said = started.communicate(timeout=100)
        assert started.returncode == 130
        assert "run it again to resume" in said
        assert "Traceback" not in said
        ai.always("answer")
        again = shell.start("convert", str(source), "--provider", "fake", **environment_of(ai))
        _, said = again.communicate(timeout=100)
        assert again.returncode == 0, said
        assert len(ai.paid) == 20
