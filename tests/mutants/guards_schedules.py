"""Guards of schedules and of tasks that start later."""

from tests.mutants.mutant import Edit, mutant

FIRE = "fanfold/engine/tasks/scheduling/fire.py"
ROWS = "fanfold/store/rows/schedules.py"
START = "fanfold/engine/tasks/scheduling/start_later.py"
MODEL = "fanfold/model/schedule.py"
TESTS = "engine/test_schedules.py::"

MUTANTS = (
    mutant(
        "a due time moves on only from the one that was seen",
        Edit(ROWS, "mine.append(column.is_(None) if value is None else column == value)", "pass"),
        test=f"{TESTS}test_a_worker_that_saw_an_old_due_time_submits_nothing[sqlite]",
    ),
    mutant(
        "a task of a schedule is stored only if its due time moved on",
        Edit(
            "fanfold/engine/tasks/submitting/submit.py",
            "and not self.wanted.within.admit(tx):",
            "and self.wanted.within.admit(tx) is None:",
        ),
        test=f"{TESTS}test_a_worker_that_saw_an_old_due_time_submits_nothing[sqlite]",
    ),
    mutant(
        "a run is left out while the one before it is unfinished",
        Edit(FIRE, "or not tx.schedules.is_running(seen.number):", "or True:"),
        test=f"{TESTS}test_overlap_skip_leaves_a_run_out_while_one_is_unfinished[sqlite]",
    ),
    mutant(
        "one run waits, not several",
        Edit(FIRE, "if seen.overlap == Overlap.QUEUE and seen.queued_at is None:", "if seen.overlap == Overlap.QUEUE:"),
        test=f"{TESTS}test_overlap_queue_runs_one_afterwards[sqlite]",
    ),
    mutant(
        "a paused schedule is not due",
        Edit(
            ROWS,
            "found = sa.select(*SHOWN).where(schedules.c.paused.is_(False), is_due)",
            "found = sa.select(*SHOWN).where(is_due)",
        ),
        test=f"{TESTS}test_a_paused_schedule_submits_nothing_and_resumes_with_the_next_time[sqlite]",
    ),
    mutant(
        "missed times are not made up for unless wanted",
        Edit(MODEL, "if catch_up is CatchUp.NONE and", "if False and"),
        test=f"{TESTS}test_times_at_which_nobody_was_there[sqlite-none-found0]",
    ),
    mutant(
        "each task has its own copy of the files of its schedule",
        Edit(
            "fanfold/engine/tasks/scheduling/stored_submission.py",
            "Upload(one.name, used.enter_context(one.open())) if isinstance(one, File) else one",
            "one",
        ),
        test=f"{TESTS}test_files_are_kept_when_the_schedule_is_added[sqlite]",
    ),
    mutant(
        "a task does not start before its time",
        Edit(ROWS, "where(tasks.c.start_at <= self.clock.now)", "where(tasks.c.start_at.is_not(None))"),
        Edit(START, "if row.start_at > tx.time():", "if False:"),
        test=f"{TESTS}test_a_task_starts_at_its_time[sqlite]",
    ),
    mutant(
        "any move ends the wait for the start",
        Edit("fanfold/engine/tasks/moving/transitions.py", 'written["start_at"] = None', "pass"),
        test=f"{TESTS}test_a_person_starts_it_earlier_or_cancels_it[sqlite]",
    ),
)
