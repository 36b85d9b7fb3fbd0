"""Guards of items that wait for a person, and of external jobs: nothing is started twice."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

WORK = "fanfold/engine/handlers/work.py"
SETTLE_BATCH = "fanfold/engine/worker/attempt/settle_batch.py"
HOLD = "engine/test_hold.py"
JOBS = "engine/test_external.py"
ENGINE = "fanfold/engine/handlers/external_job.py"
STORE = "fanfold/store/items/awaited/external_jobs.py"
SETTLING = "fanfold/store/items/settle.py"
EXTERNAL = "engine/test_external.py::test_a_crash_between_any_two_steps_starts_no_job_twice"

UNWANTED = "engine/test_external_unwanted.py"

MUTANTS = (
    mutant(
        "a poll that fails uses no retry",
        Edit(ENGINE, "if not _may_pass(error):", "if True:"),
        test=f"{JOBS}::test_polls_that_fail_use_no_retry_and_poll_the_same_job_again[sqlite-any]",
    ),
    mutant(
        "a redo asks about the job before it",
        Edit(ENGINE, "await self._settle_earlier(row)", "pass"),
        test=f"{UNWANTED}::test_a_redo_asks_about_a_job_of_unknown_outcome_before_it_starts_another[sqlite-pause and rerun]",
    ),
    mutant(
        "a job that was started too late is cancelled and told",
        Edit(ENGINE, "mine[3], late=True)", "mine[3], late=True) if kept else None"),
        test=f"{UNWANTED}::test_a_job_that_a_worker_without_its_lease_started_beside_another_is_cancelled_and_told[sqlite-True]",
    ),
    mutant(
        "a job of an item that has ended is not checked or sent again",
        Edit("fanfold/store/items/awaited/external_jobs.py", "ended=ItemState(row.item_state) in ENDED", "ended=False"),
        test=f"{UNWANTED}::test_what_nobody_would_do_is_refused_for_jobs_whose_items_have_ended[sqlite]",
    ),
    mutant(
        "the generation of what a retry has put back is kept",
        Edit(
            "fanfold/store/items/large/copy.py",
            "dialect.among(items.c.id), items.c.lease > 0)",
            "dialect.among(items.c.id), items.c.lease > 0, tried)",
        ),
        by="sqlite",
        test=f"{JOBS}::test_a_second_redo_in_a_chain_starts_a_new_job[sqlite]",
    ),
    mutant(
        "a held item never becomes due by itself",
        Edit(
            "fanfold/store/items/settle.py",
            '[{**row, "delay": HELD_SECONDS} for row in rows]',
            '[{**row, "delay": 5 * 365 * 86_400.0} for row in rows]',
        ),
        test=f"{HOLD}::test_a_held_item_waits_for_a_person_while_the_others_go_on[sqlite]",
    ),
    mutant(
        "nothing becomes due because of a held item",
        Edit("fanfold/store/items/find_work.py", "where(DUE_SOME_TIME, items.c", "where(TIMED, items.c"),
        test=f"{HOLD}::test_nothing_falls_due_because_of_a_held_item[sqlite]",
    ),
    mutant(
        "a held compensation can be retried",
        Edit("fanfold/model/words.py", 'if verb == "retry" and facts.held:', "if False:"),
        test=f"{HOLD}::test_a_compensation_that_is_held_can_be_told_to_go_on[sqlite]",
    ),
    mutant(
        "the intent is kept before the job is started",
        Edit(
            STORE,
            'self.connection.execute(made.on_conflict_do_update(index_elements=["item", "name"], set_=values))',
            "pass",
        ),
        test=f"{EXTERNAL}[sqlite-2-before-find]",
    ),
    mutant(
        "a refused start does not forget the job that failed before",
        Edit(ENGINE, "ended = self._key(number - 1) if number > 1 else None", "ended = None"),
        test=f"{JOBS}::test_a_refused_start_does_not_forget_the_job_that_failed_before[sqlite]",
    ),
    mutant(
        "an intent without an id is not started again blindly",
        Edit(ENGINE, "raise HoldItem(self._unclear(row.key))", "return await self._start(row.key)"),
        test=f"{EXTERNAL}[sqlite-2-before-no_find]",
    ),
    mutant(
        "a job that the service knows is not started again",
        Edit(
            ENGINE,
            "if found is None:\n            return await self._start(row.key)",
            "if found:\n            return await self._start(row.key)",
        ),
        test=f"{EXTERNAL}[sqlite-2-before-find]",
    ),
    mutant(
        "a start that may be in progress is awaited",
        Edit(ENGINE, "if row.in_flight:", "if False:"),
        test=f"{JOBS}::test_a_start_that_may_be_under_way_is_waited_for[sqlite]",
    ),
    mutant(
        "the call that starts a job is not cut in two",
        Edit(ENGINE, "return await asyncio.shield(starting)", "return await starting"),
        test="engine/test_external_live.py::test_an_id_is_kept_when_the_attempt_is_stopped_during_the_call[sqlite-pause-def]",
    ),
    mutant(
        "a timeout is not a refusal",
        Edit(ENGINE, "if is_refusal(error):", "if True:"),
        test=f"{JOBS}::test_without_a_way_to_find_it_a_person_decides_at_once[sqlite]",
    ),
    mutant(
        "no job is started for a task that is not active",
        Edit(STORE, "items.c.lease == lease, RUNNING, wanted", "items.c.lease == lease, RUNNING"),
        test=f"{JOBS}::test_no_job_is_started_for_a_task_that_was_paused_just_now[sqlite]",
    ),
    mutant(
        "an id that comes late does not replace a newer intent",
        Edit(STORE, "            externals.c.lease == lease,\n", ""),
        test=f"{JOBS}::test_an_id_that_comes_too_late_does_not_replace_a_newer_intent[sqlite]",
    ),
    mutant(
        "the lease in remember",
        Edit(
            SETTLING,
            "sa.select(items.c.id).where(items.c.id == item, items.c.lease == lease).with_for_update()",
            "sa.select(items.c.id).where(items.c.id == item).with_for_update()",
        ),
        test="store/test_settling.py::test_progress_and_memory_need_the_lease_too[sqlite-remember]",
    ),
    mutant(
        "the generation in remember",
        Edit(SETTLING, "is None or self.generation(item) != generation:", "is None:"),
        test=f"{JOBS}::test_an_attempt_from_before_a_redo_remembers_nothing_for_it[sqlite]",
    ),
    mutant(
        "what was remembered while the item was claimed is read again",
        Edit(WORK, "if self._claimed.lease > 1:", "if False:"),
        test=f"{JOBS}::test_what_is_remembered_while_the_next_attempt_is_claimed_is_not_lost[sqlite]",
    ),
    mutant(
        "a started job is called lost only by name",
        Edit(
            "fanfold/engine/tasks/steering/external_decisions.py",
            "(named and job.state is JobState.STARTED)",
            "job.state is JobState.STARTED",
        ),
        test=f"{JOBS}::test_a_started_job_is_called_lost_only_by_name[sqlite]",
    ),
    mutant(
        "an item that ticks cut off repeatedly is held for a person",
        Edit(SETTLE_BATCH, "count is not None and count >= one.out_of_time.limit", "False"),
        test="engine/test_budget.py::test_an_item_that_the_budget_cuts_off_again_and_again_waits_for_a_person[sqlite]",
    ),
    mutant(
        "an item that makes progress is not held when ticks cut it off",
        Edit(SETTLING, '{"handed_back": None} if share > (so_far or 0.0) else {}', "{}"),
        test="engine/test_budget.py::test_an_item_that_gets_on_in_every_tick_is_not_held[sqlite]",
    ),
    mutant(
        "what a worker knows of a task does not outlive its generation",
        Edit(
            "fanfold/engine/worker/claiming/claim.py",
            "if row is None or row.generation != claimed.task_generation:",
            "if row is None:",
        ),
        test=f"{JOBS}::test_a_worker_that_knows_the_task_already_starts_a_new_job_after_a_rerun[sqlite]",
    ),
    mutant(
        "only items that had a fair share of the tick are counted",
        Edit(
            "fanfold/engine/worker/attempt/attempts.py",
            "out_of_time is not None and attempt.started_at <= out_of_time.begun_by",
            "out_of_time",
        ),
        test="engine/test_budget.py"
        "::test_an_item_that_began_late_in_the_budget_is_handed_back_without_being_counted[sqlite]",
    ),
    mutant(
        "items of a repeated split have new keys",
        Edit(
            "fanfold/engine/tasks/moving/advance.py", "if new_items is not None and new_items.generation:", "if False:"
        ),
        by="sqlite",
        test="engine/test_generations.py::test_what_a_split_makes_anew_never_has_a_key_that_was_used_before[sqlite-1212]",
    ),
    mutant(
        "what separates the parts of a key is escaped in them",
        Edit("fanfold/model/values/idempotency.py", "return text.translate(SEPARATORS)", "return text"),
        test="engine/test_generations.py::test_items_whose_names_look_like_parts_of_a_key_have_keys_of_their_own[sqlite]",
    ),
    mutant(
        "two external jobs of one attempt have two names",
        Edit(WORK, "        if name in self._jobs:\n", "        if False:\n"),
        test="engine/test_external_names.py::test_a_second_job_of_one_name_is_refused_and_no_job_is_lost_by_it[sqlite-in turn]",
    ),
    mutant(
        "a result that is being redone is not returned",
        Edit(
            "fanfold/engine/queries/results/outputs.py",
            "if not kept or not (earlier or row.state is TaskState.COMPLETED):",
            "if not kept:",
        ),
        test="cli/test_out_of_date.py::test_while_items_are_redone_there_is_no_result_but_the_earlier_one_can_be_had[sqlite]",
    ),
    mutant(
        "an item that is not done has no output",
        Edit("fanfold/engine/queries/items.py", "if text is None if earlier else not is_done:", "if text is None:"),
        test="cli/test_out_of_date.py::test_an_item_that_is_not_done_has_no_output_but_the_earlier_one_can_be_had[sqlite]",
    ),
    mutant(
        "a list of results that is redone while it is read is read again",
        Edit(
            "fanfold/engine/queries/results/outputs.py", "            if is_same(before, row):", "            if True:"
        ),
        by="sqlite",
        test="engine/test_reading.py::test_results_that_are_redone_while_they_are_read_are_not_given_with_gaps",
    ),
)
