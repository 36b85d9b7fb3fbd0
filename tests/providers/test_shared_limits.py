"""One rate limit for all processes: never more than it allows in any minute, nearly all of it used, few visits to the rows."""

from bisect import bisect_right
from pathlib import Path

from tests.providers.limit_processes import run_processes


def most_in_a_minute(calls: list[float]) -> int:
    """The most calls in any 60 seconds, wherever they begin."""
    return max(bisect_right(calls, moment + 60.0 - 1e-9) - place for place, moment in enumerate(calls))


def test_four_processes_with_fifty_coroutines_use_a_minute_fully_and_never_exceed_it(
    database_url: str, tmp_path: Path
) -> None:
    """Real processes, each with its own connections; the clock that all of them read is turned by hand."""
    found = run_processes(database_url, tmp_path, processes=4, coroutines=50, size=60, seconds=125)
    assert most_in_a_minute(found.calls) <= 60
    assert sum(moment < 120 for moment in found.calls) >= 0.95 * 120
    assert found.busiest_pool <= 2, "coroutines do not queue on a row, each with a connection"
