"""A user's test suite of ten cases takes a bounded amount of processor time, and importing Fanfold costs nothing more for it."""

import subprocess
import sys
import time

from fanfold.testing import Engine, busy, rate_limited, timed_out
from tests.testing.translation import NOVEL, book

MOST_SECONDS = 5.0
"""Measured: 0.9 to 1.35 s of processor time on a machine that was busy with other work; the bound leaves room for worse."""


def cases() -> None:
    """Ten tests as a user writes them."""
    for number in range(10):
        with Engine() as engine:
            engine.answers(*([], [busy()], [rate_limited(after=30)], [timed_out()])[number % 4], to="zwei")
            engine.answer("text")
            if number == 4:
                engine.before_settle(item="002").crash()
            if number == 5:
                engine.after_settle(count=1).pause()
            task = engine.submit(book, NOVEL)
            engine.run()
            assert engine.task(task).state == ("paused" if number == 5 else "completed")


def test_ten_cases_of_a_pipeline_take_a_moment() -> None:
    with Engine():
        pass  # The first one of a process makes the database, which all others use again.
    started = time.process_time()
    cases()
    assert time.process_time() - started < MOST_SECONDS


def test_importing_fanfold_loads_nothing_for_tests_and_testing_needs_no_pytest() -> None:
    program = (
        "import sys, fanfold, fanfold.cli\n"
        "assert 'fanfold.testing' not in sys.modules\n"
        "import fanfold.testing\n"
        "assert 'pytest' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
