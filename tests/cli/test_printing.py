"""Output is formatted for terminals, pipes and programs."""

from datetime import UTC, datetime, timedelta

import pytest

from fanfold.cli.parameters import parse_options
from fanfold.errors import BadInput
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.display import Lines, Rate


def test_options_are_json_or_text() -> None:
    found = parse_options(["a=1", "b=x=y", 'c={"d": [true]}', "e=", "f=NaN"])
    assert found == {"a": 1, "b": "x=y", "c": {"d": [True]}, "e": "", "f": "NaN"}
    with pytest.raises(BadInput, match="'=x' is not an option"):
        parse_options(["=x"])


def test_times_are_local_and_short() -> None:
    now = datetime.now(UTC)
    assert printing.short_time(now) == f"{now.astimezone():%H:%M:%S %Z}"
    past = now - timedelta(days=3)
    assert printing.short_time(past) == f"{past.astimezone():%Y-%m-%d %H:%M %Z}"
    assert printing.short_time(None) == ""


def test_spans_and_sizes_are_for_people() -> None:
    assert [printing.duration(seconds) for seconds in (0.25, 75, 7300)] == ["0.2 s", "1 min 15 s", "2 h 01 min"]
    assert [printing.size(count) for count in (12, 2_500, 3_000_000)] == ["12 bytes", "2.5 kB", "3.0 MB"]


def test_wide_letters_keep_columns_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    printing.print_table(("title", "n"), [("小说", "1"), ("four", "22")], right=("n",))
    assert capsys.readouterr().out == "title   n\n小说    1\nfour   22\n"


def test_plain_values_have_utc_times_and_no_objects() -> None:
    moment = datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert printing.plain({"at": moment, "set": (1, 2)}) == {"at": "2030-01-01T12:00:00+00:00", "set": [1, 2]}


def test_lines_are_silent_until_there_is_something_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    Lines().close()
    assert Rate().per_second == 0.0
    assert capsys.readouterr().err == ""
