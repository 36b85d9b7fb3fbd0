"""Settings are read from the right places, and bad ones are refused."""

from dataclasses import fields
from pathlib import Path

import pytest

from fanfold.errors import BadInput
from fanfold.settings import MEANINGS, Settings, load


def test_every_setting_has_a_default_and_a_meaning() -> None:
    assert [field.name for field in fields(Settings)] == list(MEANINGS)
    assert load({}, Path("/nowhere")) == Settings()


def test_what_is_said_beats_the_environment_and_that_beats_the_file(tmp_path: Path) -> None:
    (tmp_path / "fanfold.toml").write_text("concurrency = 2\npoll_seconds = 3\nsweep_seconds = 4\n")
    environment = {"FANFOLD_CONCURRENCY": "20", "FANFOLD_POLL_SECONDS": "30"}
    found = load(environment, tmp_path, concurrency=200, database=None)
    assert (found.concurrency, found.poll_seconds, found.sweep_seconds) == (200, 30.0, 4.0)


def test_an_empty_variable_is_no_setting() -> None:
    assert load({"FANFOLD_CONCURRENCY": "", "FANFOLD_DATABASE": ""}, Path("/nowhere")) == Settings()


def test_other_variables_and_tables_of_the_file_are_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "fanfold.toml").write_text('[tool]\nname = "x"\n')
    assert load({"FANFOLD_THEME": "dark", "PATH": "/bin"}, tmp_path) == Settings()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"FANFOLD_CONCURRENCY": "many"}, "concurrency is 'many', which is not a number. Items one worker"),
        ({"FANFOLD_CONCURRENCY": "1.5"}, "not a number"),
        ({"FANFOLD_CONCURRENCY": "-1"}, "must be more than 0"),
        ({"FANFOLD_OWNER_WEIGHTS": "alice"}, "write owner=weight"),
        ({"FANFOLD_OWNER_WEIGHTS": "alice=0"}, "write owner=weight"),
        ({"FANFOLD_OWNER_WEIGHTS": "alice=nan"}, "write owner=weight"),
        ({"FANFOLD_OWNER_WEIGHTS": '{"alice": [1]}'}, "write owner=weight"),
        ({"FANFOLD_POLL_SECONDS": "-1"}, "must be more than 0"),
        ({"FANFOLD_POLL_SECONDS": "nan"}, "must be more than 0"),
        ({"FANFOLD_CRASH_LIMIT": "0"}, "must be more than 0"),
        ({"FANFOLD_LEASE_SECONDS": "8"}, "must outlast two heartbeats"),
        ({"FANFOLD_LEASE_SECONDS": "nan"}, "must outlast two heartbeats"),
        ({"FANFOLD_SQLITE_SYNCHRONOUS": "OFF"}, "use FULL, EXTRA or NORMAL"),
        ({"FANFOLD_LOG": "xml"}, "use text or json"),
    ],
)
def test_a_bad_value_is_refused_with_the_reason(environment: dict[str, str], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        load(environment, Path("/nowhere"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("concurency = 5", "unknown settings: concurency. Known settings: database"),
        ("concurrency = [1]", "not a number"),
        ("concurrency == 5", "is not TOML"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "fanfold.toml").write_text(text)
    with pytest.raises(BadInput, match=reason):
        load({}, tmp_path)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fanfold.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="is not TOML"):
        load({}, tmp_path)


def test_the_database_is_in_the_data_folder_unless_said_otherwise() -> None:
    assert Settings(data="/srv/fanfold").database_url == "sqlite:////srv/fanfold/fanfold.db"
    assert Settings(data="/srv", database="postgresql://db/x").database_url == "postgresql://db/x"
    assert Settings().data_folder.name == "fanfold"


def test_weights_of_owners_are_written_in_a_line_or_as_a_table(tmp_path: Path) -> None:
    assert load({"FANFOLD_OWNER_WEIGHTS": " alice = 3, bob@x=0.5,"}, tmp_path).weights == {"alice": 3, "bob@x": 0.5}
    (tmp_path / "fanfold.toml").write_text('[owner_weights]\nalice = 3\n"a, b=c" = 2\n')
    assert load({}, tmp_path).weights == {"alice": 3, "a, b=c": 2}
    assert Settings().weights == {}
