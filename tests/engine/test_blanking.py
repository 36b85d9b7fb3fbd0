"""A key that a service quotes stays out of everything that is stored, logged and shown."""

import logging
import sys

import pytest

import fanfold as ff
from fanfold.engine.redaction import Formatter, without_keys
from fanfold.model.values.secrets import BLANK, secrets_in
from fanfold.providers.configuration import Provider
from tests.installation import Installation

KEY = "sk-live-9f8e7d6c5b4a/+x"
quoting = ff.Pipeline("quoting")


@quoting.each(retry=ff.Retry(limit=0))
def ask(item: ff.ItemWork) -> str:
    """Ends as its input says, each time with the key in the text."""
    said = f"Incorrect API key provided: {KEY}. Authorization: Bearer {KEY}"
    item.progress(0.5, f"asking with {KEY}")
    if item.input == "cause":
        raise ff.Permanent("refused") from ValueError(said)
    if item.input == "hold":
        raise ff.HoldItem(said)
    if item.input == "retry":
        raise ff.Temporary(said, after=3600, counts=False)
    if item.input == "odd":
        raise RuntimeError(said.replace(KEY, "sk-live-9f8e7d6c5b4a%2F%2Bx"))
    item.degraded(said)
    return "done"


@pytest.mark.parametrize("kept", ["environment", "told"])
def test_a_quoted_key_is_kept_nowhere(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kept: str
) -> None:
    name = "OPENAI_API_KEY" if kept == "environment" else "MY_SERVICE"
    monkeypatch.setenv(name, KEY)
    if kept == "told":
        assert Provider("mine", key_env=name).key == KEY
    installation.know(quoting)
    kinds = ["cause", "hold", "retry", "odd", "degraded"]
    with caplog.at_level(logging.DEBUG, "fanfold"):
        task = installation.client.submit(quoting, items=kinds)
        installation.work()
    states = {item.input: item.item for item in (installation.client.item(task.id, f"{n}") for n in range(1, 6))}
    assert [states[kind].state for kind in kinds] == ["failed", "waiting", "retrying", "failed", "done"]
    rows = repr(installation.rows())
    assert "Incorrect API key provided" in rows
    assert "9f8e7d6c5b4a" not in rows
    formatter = Formatter("%(message)s")
    assert all("9f8e7d6c5b4a" not in formatter.format(record) for record in caplog.records)


def test_a_key_is_blanked_in_log_lines_and_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    try:
        raise ValueError(f"no key {KEY}")
    except ValueError:
        record = logging.LogRecord("fanfold", 40, "x", 1, "it failed with %s", (KEY,), sys.exc_info())
    said = Formatter("%(message)s").format(record)
    assert KEY not in said
    assert said.count(BLANK) >= 2


def test_only_what_is_secret_is_blanked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME_FOLDER", "/home/somebody")
    monkeypatch.setenv("SHORT_TOKEN", "the")
    monkeypatch.setenv("FANFOLD_DATABASE", "postgresql://fan:very%20secret@db/fanfold")
    assert without_keys("the folder /home/somebody") == "the folder /home/somebody"
    assert without_keys("no access: very secret, very%20secret") == f"no access: {BLANK}, {BLANK}"
    assert secrets_in({"A_PASSWORD": "1234567"}) == set()


LONG_KEY = "sk-proj-9f8e7d6c5b4a39281706f5e4"


@pytest.mark.parametrize("part", [LONG_KEY[:23], LONG_KEY[:8], LONG_KEY[-23:], LONG_KEY[-8:], LONG_KEY[:31]])
def test_a_long_part_of_a_key_is_blanked_too(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", LONG_KEY)
    assert without_keys(f"No such key: {part}, nor {part}.") == f"No such key: {BLANK}, nor {BLANK}."
    assert without_keys(f"{part}*** and {LONG_KEY}") == f"{BLANK}*** and {BLANK}"


@pytest.mark.parametrize("part", [LONG_KEY[:7], LONG_KEY[-7:], LONG_KEY[12:30]])
def test_what_is_too_short_to_tell_a_key_stays(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", LONG_KEY)
    assert without_keys(f"About {part}.") == f"About {part}."


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ("password-of-the-database-7", "The password is wrong, password-less login too"),
        ("Postgres/9f8e7d6c5b4a3928", "Postgres/Linux answered"),
        ("9f8e7d6c5b4a3928-production", "It is in production, in non-production too"),
        ("hunter2-twelve", "hunter2-twel is the beginning of a short one"),
    ],
)
def test_an_ordinary_word_that_a_secret_begins_or_ends_with_stays(
    monkeypatch: pytest.MonkeyPatch, secret: str, said: str
) -> None:
    monkeypatch.setenv("SERVICE_PASSWORD", secret)
    assert without_keys(said) == said
    assert secret not in without_keys(f"{said}: {secret}")
