"""The words that people see are derived in one place."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import fanfold
from fanfold.errors import BadPipeline
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.pipeline import Pipeline, task
from fanfold.model.plan import Plan
from fanfold.model.progress import Counts
from fanfold.model.text.moments import told_at
from fanfold.model.words import (
    Facts,
    Trouble,
    available_commands,
    needs_you,
    objection,
    plain_commands,
    state_word,
    wait_reason,
)

WAYS = "You can retry it, merge without it or cancel the task"
SINCE = datetime(2030, 1, 1, 12, 2, tzinfo=UTC)
IN_8_S = {"now": SINCE, "next_due_at": SINCE + timedelta(seconds=7.2)}
LIMITED = Trouble("fake said 429.", "rate_limited", "fake", SINCE)
ABSENT = Trouble("fake cannot be reached.", "unreachable", "fake", SINCE)


def nothing(_work: object) -> None:
    """A handler."""


def bound(_task: object, _results: object) -> None:
    """A merge."""


def pdf() -> Plan:
    pipeline = Pipeline("pdf")
    pipeline.split(name="pages")(nothing)
    pipeline.each(name="convert")(nothing)
    pipeline.merge(name="bind", gate=True)(bound)
    return pipeline.plan()


def image() -> Plan:
    pipeline = Pipeline("image")
    pipeline.step(name="download", ready="pending", doing="downloading")(nothing)
    pipeline.step(name="generate", ready="downloaded", doing="ai_calling")(nothing)
    pipeline.step(name="poll", ready="ai_processing", doing="ai_processing")(nothing)
    pipeline.step(name="watermark", ready="ai_completed", doing="watermarking")(nothing)
    pipeline.step(name="upload", ready="uploading", doing="uploading")(nothing)
    return pipeline.plan()


def proofread() -> Plan:
    pipeline = Pipeline("proofread")
    pipeline.step(name="validate", ready="queued", doing="running")(nothing)
    pipeline.split(name="chunks", ready="running", doing="running", gate=True)(nothing)
    pipeline.each(name="process", ready="running", doing="running")(nothing)
    pipeline.merge(name="merge", ready="running", doing="running")(bound)
    return pipeline.plan()


def function() -> Plan:
    plan: Plan = task(nothing).pipeline.plan()
    return plan


def facts(plan: Plan, state: str, stage: str, counts: dict[str, int], **more: object) -> Facts:
    return Facts(TaskState(state), stage, plan, Counts(counts), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "stage", "counts", "word"),
    [
        ("active", "pages", {"pending": 1}, "pending"),
        ("active", "pages", {"running": 1}, "splitting"),
        ("active", "convert", {"pending": 3}, "processing"),
        ("active", "convert", {"pending": 2, "retrying": 1}, "processing"),
        ("active", "convert", {"pending": 2, "running": 1}, "processing"),
        ("waiting", "bind", {"pending": 1}, "ready to merge"),
        ("active", "bind", {"pending": 1}, "ready to merge"),
        ("active", "bind", {"running": 1}, "merging"),
        ("completed", "bind", {"done": 1}, "completed"),
        ("failed", "bind", {"failed": 1}, "failed"),
        ("cancelled", "convert", {"pending": 1}, "cancelled"),
        ("partial", "convert", {"done": 1, "failed": 1}, "partial"),
        ("paused", "convert", {"pending": 1}, "paused"),
    ],
)
def test_a_conversion_speaks_of_splitting_processing_and_merging(
    state: str, stage: str, counts: dict[str, int], word: str
) -> None:
    assert state_word(facts(pdf(), state, stage, counts)) == word


@pytest.mark.parametrize(
    ("state", "stage", "counts", "word"),
    [
        ("active", "validate", {"pending": 1}, "queued"),
        ("active", "validate", {"running": 1}, "running"),
        ("waiting", "chunks", {"pending": 1}, "waiting"),
        ("active", "process", {"retrying": 1, "done": 1}, "running"),
        ("paused", "process", {"pending": 1}, "paused"),
    ],
)
def test_a_proofreading_has_a_few_words_for_many_phases(
    state: str, stage: str, counts: dict[str, int], word: str
) -> None:
    assert state_word(facts(proofread(), state, stage, counts)) == word


def test_an_application_that_renames_waiting_has_its_word_at_the_gate_of_a_merge_too() -> None:
    renamed = replace(pdf(), task_words=(("waiting", "paused"),))
    assert state_word(facts(renamed, "waiting", "bind", {"pending": 1})) == "paused"
    assert state_word(facts(renamed, "active", "bind", {"pending": 1})) == "ready to merge"


@pytest.mark.parametrize(
    ("counts", "word"),
    [({"pending": 1}, "pending"), ({"running": 1}, "running"), ({"retrying": 1}, "retrying")],
)
def test_a_plain_function_is_pending_running_or_retrying(counts: dict[str, int], word: str) -> None:
    assert state_word(facts(function(), "active", "nothing", counts)) == word


def test_an_image_goes_through_a_chain_of_named_states() -> None:
    seen = [
        state_word(facts(image(), "active", stage, counts))
        for stage in ("download", "generate", "poll", "watermark", "upload")
        for counts in ({"pending": 1}, {"running": 1})
    ]
    assert list(dict.fromkeys(seen)) == [
        "pending",
        "downloading",
        "downloaded",
        "ai_calling",
        "ai_processing",
        "ai_completed",
        "watermarking",
        "uploading",
    ]


def test_a_task_that_makes_up_for_its_failure_says_so() -> None:
    assert state_word(facts(image(), "active", "on_failed", {"running": 1}, ending="failed")) == "compensating"


@pytest.mark.parametrize(
    ("plan", "state", "stage", "failed", "commands"),
    [
        (pdf(), "active", "convert", 0, "pause cancel"),
        (pdf(), "active", "convert", 2, "pause cancel retry"),
        (pdf(), "waiting", "bind", 0, "resume merge cancel rerun delete"),
        (proofread(), "waiting", "chunks", 0, "resume cancel rerun delete"),
        (pdf(), "paused", "convert", 0, "resume cancel rerun delete"),
        (pdf(), "partial", "convert", 1, "merge cancel retry rerun delete"),
        (pdf(), "failed", "convert", 1, "retry rerun delete"),
        (image(), "failed", "upload", 1, "retry rerun delete"),
    ],
)
def test_only_commands_that_make_sense_are_offered(
    plan: Plan, state: str, stage: str, failed: int, commands: str
) -> None:
    assert available_commands(facts(plan, state, stage, {}, failed_items=failed)) == tuple(commands.split())


@pytest.mark.parametrize(
    ("state", "stage", "commands"),
    [
        ("completed", "bind", "merge retry rerun delete"),
        ("active", "convert", "pause cancel retry"),
        ("paused", "convert", "resume cancel retry rerun delete"),
        ("waiting", "bind", "resume merge cancel retry rerun delete"),
    ],
)
def test_a_retry_is_offered_where_done_items_can_be_named(state: str, stage: str, commands: str) -> None:
    known = facts(pdf(), state, stage, {"done": 2}, done_items=2)
    assert available_commands(known) == tuple(commands.split())
    assert plain_commands(known) == tuple(verb for verb in commands.split() if verb != "retry")
    assert objection(known, "retry") == "none of its items has failed; name the ones to redo with --item"
    assert "retry" in plain_commands(replace(known, failed_items=1))


@pytest.mark.parametrize("verb", ["pause", "cancel", "retry"])
def test_a_compensation_is_not_interrupted(verb: str) -> None:
    running = facts(image(), "active", "on_failed", {"running": 1}, ending="failed", failed_items=1)
    assert objection(running, verb) == "its on_failed step is still running"
    assert verb not in available_commands(running)


def test_a_pipeline_without_a_merge_cannot_be_merged() -> None:
    assert objection(facts(image(), "completed", "upload", {}), "merge") == "its pipeline has no merge"


@pytest.mark.parametrize(
    ("state", "counts", "more", "reason"),
    [
        ("active", {"running": 1, "pending": 5}, {}, None),
        ("active", {"pending": 1}, {}, None),
        ("active", {"pending": 1}, {"served": False}, "no worker serves stage convert"),
        ("active", {"retrying": 1}, {"served": False}, "no worker serves stage convert"),
        (
            "active",
            {"pending": 1},
            {"served": False, "read_only": True},
            "the database refuses writes; work resumes by itself when it accepts them again",
        ),
        ("active", {"running": 1}, {"read_only": True}, None),
        ("active", {"retrying": 1}, {"trouble": Trouble("oops")}, "waits for the next try: oops"),
        (
            "active",
            {"retrying": 2, "pending": 3},
            {"trouble": LIMITED, **IN_8_S},
            "rate limited by fake, next try in 8 s",
        ),
        ("active", {"retrying": 2, "running": 1}, {"trouble": LIMITED}, "rate limited by fake, trying now"),
        ("active", {"retrying": 2, "running": 1}, {"trouble": replace(LIMITED, others_move=True)}, None),
        ("active", {"retrying": 1}, {"trouble": ABSENT, **IN_8_S}, "fake unreachable since 12:02 UTC, next try in 8 s"),
        (
            "active",
            {"retrying": 1},
            {"trouble": replace(LIMITED, code="odd"), **IN_8_S},
            "waits for fake, next try in 8 s",
        ),
        ("active", {"retrying": 1}, {}, "waits for the next try"),
        ("active", {"waiting": 1}, {}, "waits for an external job"),
        ("active", {"waiting": 1, "running": 1}, {}, None),
        ("paused", {"pending": 1}, {}, "paused"),
        ("paused", {"pending": 1}, {"reason": "over budget"}, "paused: over budget"),
        ("waiting", {"pending": 1}, {}, "waits for you before convert"),
        ("partial", {"failed": 2}, {"failed_items": 2}, "2 failed: retry them, or merge without them"),
        ("completed", {}, {}, None),
    ],
)
def test_a_task_that_stands_still_says_why(
    state: str, counts: dict[str, int], more: dict[str, object], reason: str | None
) -> None:
    assert wait_reason(facts(pdf(), state, "convert", counts, **more)) == reason


@pytest.mark.parametrize(
    ("state", "counts", "more", "reason"),
    [
        ("active", {"retrying": 1}, {"trouble": LIMITED}, None),
        (
            "active",
            {"retrying": 1},
            {"trouble": replace(LIMITED, stuck_since=SINCE), "now": SINCE},
            "rate limited by fake since 12:02 UTC; it resumes by itself as soon as fake answers",
        ),
        (
            "active",
            {"retrying": 1, "running": 1},
            {"trouble": replace(ABSENT, stuck_since=SINCE), "now": SINCE},
            "fake unreachable since 12:02 UTC; it resumes by itself as soon as fake answers",
        ),
        (
            "active",
            {"retrying": 1},
            {"trouble": Trouble("no space", since=SINCE, stuck_since=SINCE), "now": SINCE},
            "has been waiting since 12:02 UTC: no space",
        ),
        (
            "active",
            {"retrying": 1},
            {"trouble": replace(ABSENT, stuck_since=SINCE), "now": SINCE + timedelta(hours=12)},
            "fake unreachable since 2030-01-01 12:02 UTC; it resumes by itself as soon as fake answers",
        ),
        ("active", {"waiting": 1}, {"held": 1, "hold": "look"}, f"1 item waits for you: look. {WAYS}"),
        ("paused", {"pending": 1}, {"reason": "over budget"}, "paused: over budget"),
        ("waiting", {"pending": 1}, {}, "waits for you before convert"),
        ("partial", {"failed": 2}, {"failed_items": 2}, "2 failed: retry them, or merge without them"),
        ("active", {"pending": 1}, {"served": False}, None),
        ("completed", {}, {}, None),
    ],
)
def test_what_needs_a_person_says_why(
    state: str, counts: dict[str, int], more: dict[str, object], reason: str | None
) -> None:
    assert needs_you(facts(pdf(), state, "convert", counts, **more)) == reason


def test_a_task_that_waits_for_a_time_names_it() -> None:
    due = datetime(2030, 1, 1, 12, 30, 5, tzinfo=UTC)
    reasons = [
        wait_reason(facts(pdf(), "active", "convert", {"retrying": 1}, next_due_at=due, now=now))
        for now in (due - timedelta(hours=12), due - timedelta(hours=13))
    ]
    assert reasons == [
        "waits for the next try at 12:30:05 UTC",
        "waits for the next try at 2030-01-01 12:30:05 UTC",
    ]


def test_a_service_that_has_been_away_since_yesterday_is_told_with_the_date() -> None:
    now = SINCE + timedelta(days=1)
    known = {"trouble": ABSENT, "now": now, "next_due_at": now + timedelta(seconds=8)}
    assert wait_reason(facts(pdf(), "active", "convert", {"retrying": 1}, **known)) == (
        "fake unreachable since 2030-01-01 12:02 UTC, next try in 8 s"
    )


def test_a_time_is_told_with_its_zone_and_without_the_date_of_today_there() -> None:
    east = timezone(timedelta(hours=14), "EAST")
    assert told_at(SINCE, SINCE) == "12:02 UTC"
    assert told_at(SINCE, None) == "2030-01-01 12:02 UTC"
    assert told_at(SINCE, SINCE.astimezone(east), seconds=True) == "12:02:00 UTC"
    assert told_at(SINCE, SINCE - timedelta(hours=4), zone=east) == "2030-01-02 02:02 EAST"
    assert told_at(SINCE, SINCE, zone=None) == f"{SINCE.astimezone():%H:%M %Z}"


def test_no_other_place_makes_a_bare_time_of_day() -> None:
    """A sentence that names a time has it from ``told_at``."""
    sources = Path(fanfold.__file__).parent
    known = {
        "model/text/moments.py",
        "running/terminal/invocation.py",  # The beginning of a line of the log.
        "server/web/frame/templating.py",  # The date stands before it.
    }
    found = {path.relative_to(sources).as_posix() for path in sources.rglob("*.py") if "%H:%M" in path.read_text()}
    assert found == known


def test_a_function_with_a_bad_name_is_refused() -> None:
    with pytest.raises(BadPipeline, match="cannot name a pipeline"):
        task(name="no spaces, please")(nothing)
