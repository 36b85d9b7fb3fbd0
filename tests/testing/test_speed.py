"""A user's ten test cases take well under a second of processor time, and importing Fanfold does not load them."""

import subprocess
import sys
import time
from collections.abc import Callable

from fanfold.testing import Engine, busy, rate_limited, timed_out
from tests.testing.translation import NOVEL, book

A_SECOND_OF_COUNTING = 50_000_000
"""Python counts this far in about a second of processor time on a machine with nothing else to do.

Processor time doubles on a busy machine, so ten cases are compared with counting in the same moment. Measured: 0.5 to 0.7 of it.
"""


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


def count() -> None:
    """A second of work on an idle machine."""
    for _ in range(A_SECOND_OF_COUNTING):
        pass


def processor_seconds(work: Callable[[], None]) -> float:
    """The processor time that some work takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def test_ten_cases_of_a_pipeline_take_less_than_a_second() -> None:
    """The first cases of a process also create the database and compile the statements, which all others reuse."""
    cases()
    ratios = [processor_seconds(cases) / processor_seconds(count) for _ in range(2)]
    assert min(ratios) < 1.0, ratios


def test_importing_fanfold_loads_nothing_for_tests_and_testing_needs_no_pytest() -> None:
    program = (
        "import sys, fanfold, fanfold.cli\n"
        "assert 'fanfold.testing' not in sys.modules\n"
        "import fanfold.testing\n"
        "assert 'pytest' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
