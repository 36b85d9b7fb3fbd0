"""Guards of decisions: none is lost, each is merged once, and nothing else is done again."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ADVANCE = "fanfold/engine/tasks/moving/advance.py"
AGAIN, DECIDE = "fanfold/engine/tasks/moving/merge_again.py", "fanfold/engine/tasks/steering/decide.py"
CONTEXT, PLAN = "fanfold/engine/context.py", "fanfold/model/plan.py"
STORE, SETTLE = "fanfold/store/rows/decisions.py", "fanfold/store/items/settle.py"
TESTS, MERGING = "engine/test_decisions.py", "engine/test_merging_again.py"
CLI, SERVER = "cli/test_decide.py", "server/test_decisions.py"

MUTANTS = (
    mutant(
        "a decision that came while it merged leads to one more merge",
        Edit(ADVANCE, "        if merge is not None and merge_again(", "        if False and merge_again("),
        by="sqlite",
        test=f"{MERGING}::test_a_decision_that_comes_while_it_merges_leads_to_one_more_merge",
    ),
    mutant(
        "a merge notes the last decision before it reads a result",
        Edit(CONTEXT, "        self._note_decisions()\n", ""),
        by="sqlite",
        test=f"{MERGING}::test_a_decision_between_claim_and_handler_is_read_and_not_merged_twice",
    ),
    mutant(
        "only the holder of the lease records what a merge has read",
        Edit(
            SETTLE,
            'return self._while_held(item, lease, {"decided": number})',
            'return put_rows(self.connection, item_data, [{"item": item, "decided": number}]) is None',
        ),
        by="sqlite",
        test=f"{MERGING}::test_a_stale_worker_does_not_say_what_the_merge_has_read",
    ),
    mutant(
        "a merge that takes the result of a job has read what the job was begun with",
        Edit(CONTEXT, "last == noted or goes_on", "last == noted"),
        test=f"{MERGING}::test_a_merge_that_waits_for_an_external_job_is_not_hurried_and_done_once_more",
    ),
    mutant(
        "a merge that waits for an external job is not hurried by a decision",
        Edit(STORE, ", soon, ~external.exists())", ", soon)"),
        test=f"{MERGING}::test_a_merge_that_waits_for_an_external_job_is_not_hurried_and_done_once_more",
    ),
    mutant(
        "decisions in quick succession put the merge off",
        Edit(AGAIN, "        tx.decisions.put_off(", "        (lambda *given: None)("),
        test=f"{MERGING}::test_many_decisions_in_quick_succession_cause_one_merge",
    ),
    mutant(
        "endless decisions do not delay the merge forever",
        Edit(AGAIN, "min(merge.quiet_seconds - last, longest - first)", "merge.quiet_seconds - last"),
        test=f"{MERGING}::test_decisions_without_end_do_not_put_the_merge_off_for_ever",
    ),
    mutant(
        "the merge waits for the next chunk of a call",
        Edit(AGAIN, "        return MORE_SECONDS\n", "        pass\n"),
        test=f"{MERGING}::test_a_call_that_dies_between_two_chunks_has_its_first_ones_merged",
    ),
    mutant(
        "each chunk of decisions makes the merge due by itself",
        Edit(DECIDE, "        if new or not more:\n", "        if not more:\n"),
        by="sqlite",
        test=f"{MERGING}::test_a_call_that_dies_between_two_chunks_has_its_first_ones_merged",
    ),
    mutant(
        "a decision repeats only a merge that is done, and lets no task through its gate",
        Edit(STORE, "items.c.stage == merge, in_states((ItemState.DONE,)))", "items.c.stage == merge)"),
        Edit(AGAIN, " and row.stage != merge.name)", ")"),
        Edit(STORE, "sa.update(items).where(chosen, in_states((ItemState.DONE,)))", "sa.update(items).where(chosen)"),
        test=f"{MERGING}::test_a_merge_behind_a_gate_is_not_let_through_by_a_decision",
    ),
    mutant(
        "items that were made from a merge are not redone by a decision",
        Edit(PLAN, "return last if all(stage.kind is Kind.STEP for stage in behind) else None", "return last"),
        test=f"{MERGING}::test_items_made_from_the_merge_are_not_redone_by_a_decision",
    ),
    mutant(
        "a decision behind the last merge goes back to it",
        Edit(PLAN, "self.index(name) < self.index(last.name)", "self.index(name) != self.index(last.name)"),
        by="sqlite",
        test=f"{MERGING}::test_a_decision_while_a_later_step_runs_goes_back_to_the_merge",
    ),
    mutant(
        "the merge that follows a decision has a new idempotency key",
        Edit(STORE, "        Resetting(self.connection, self.clock).count_generation(chosen)\n", ""),
        test=f"{MERGING}::test_the_merge_that_follows_a_decision_is_other_work_for_other_services",
    ),
    mutant(
        "decisions are kept in short transactions",
        Edit(DECIDE, "place - start >= AT_ONCE or ", ""),
        by="sqlite",
        test=f"{MERGING}::test_five_thousand_decisions_in_one_call_are_merged_once_in_short_transactions",
    ),
    mutant(
        "large values are kept a few at a time",
        Edit(DECIDE, " or size + held > BYTES_AT_ONCE", ""),
        test=f"{MERGING}::test_large_values_are_kept_a_few_at_a_time",
    ),
    mutant(
        "decisions that no merge reads are refused",
        Edit(DECIDE, "if merges and stage not in read:", "if False:"),
        test=f"{TESTS}::test_decisions_that_no_merge_reads_are_refused[sqlite]",
    ),
    mutant(
        "decisions about items that are not there are refused before any is kept",
        Edit(DECIDE, "            _check_items(tx, row, checked)\n", "            pass\n"),
        test=f"{TESTS}::test_one_bad_decision_of_many_keeps_all_from_being_kept",
    ),
    mutant(
        "a decision that says the same again changes nothing",
        Edit(DECIDE, "        if standing.get(one.key, ", "        if True or standing.get(one.key, "),
        test=f"{TESTS}::test_a_decision_that_says_the_same_again_changes_nothing",
    ),
    mutant(
        "the latest decision about a part counts",
        Edit(
            STORE,
            ".where(ranked.c.rank == 1).order_by(ranked.c.number)",
            ".order_by(ranked.c.number.desc())",
        ),
        by="sqlite",
        test=f"{TESTS}::test_the_latest_decision_about_a_part_counts",
    ),
    mutant(
        "an undone decision is not read",
        Edit(
            STORE,
            "    return first_ranked(ranked).where(ranked.c.verdict != UNDO)\n",
            "    return first_ranked(ranked)\n",
        ),
        by="sqlite",
        test=f"{TESTS}::test_a_decision_can_be_taken_back",
    ),
    mutant(
        "decisions are numbered under the lock of their task",
        Edit(DECIDE, "row = self._there(tx.tasks.lock(self.number))", "row = self._there(tx.tasks.get(self.number))"),
        by="postgresql",
        test=f"{MERGING}::test_people_decide_while_real_workers_merge[postgresql]",
    ),
    mutant(
        "a value of a decision holds no files",
        Edit(DECIDE, "            if serial.has_marks(json.loads(value)):\n", "            if False:\n"),
        test=f"{TESTS}::test_what_cannot_be_decided_is_refused_and_changes_nothing",
    ),
    mutant(
        "a decision on the command line starts no item",
        Edit("fanfold/running/merge_here.py", "task.stage not in names[names.index(merges[-1]) :]", "False"),
        Edit("fanfold/running/merge_here.py", "    return names[names.index(merges[-1]) :]\n", "    return names\n"),
        test=f"{CLI}::test_items_that_are_not_done_are_not_begun_by_a_decision",
    ),
    mutant(
        "a saved result that a person has edited is left alone",
        Edit("fanfold/running/many_files/saved_results.py", "again=True, stamp=stamp", "again=False, stamp=stamp"),
        test=f"{CLI}::test_a_saved_result_that_was_edited_is_left_alone",
    ),
    mutant(
        "a viewer cannot decide",
        Edit(
            "fanfold/server/api/decisions.py", "may_answer(404, 409), dependencies=MAY_CHANGE", "may_answer(404, 409)"
        ),
        Edit(
            "fanfold/server/api/decisions.py",
            "from fanfold.server.api.tasks import MAY_CHANGE, TaskId",
            "from fanfold.server.api.tasks import TaskId",
        ),
        test=f"{SERVER}::test_only_who_may_change_a_task_decides_and_the_name_is_kept",
    ),
)
