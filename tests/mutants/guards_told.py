"""Guards of what people, merges and readers see: everything missing, degraded, used or restarted."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

USED = "fanfold/engine/handlers/used.py"
CALLER = "fanfold/engine/worker/attempt/caller.py"
RESULTS = "fanfold/engine/queries/results/task_result.py"
STREAM = "fanfold/engine/queries/results/output_stream.py"
MERGING = "engine/test_merging.py"
STREAMS = "engine/test_streams.py"

MUTANTS = (
    mutant(
        "several calls of one attempt add up",
        Edit(
            USED,
            "return added(before or {}, fitting)",
            "return (before or {}) | fitting",
        ),
        by="sqlite",
        test="engine/test_usage.py::test_several_calls_of_one_attempt_all_count[sqlite]",
    ),
    mutant(
        "a start that died with its child process is not waited for",
        Edit(
            CALLER,
            "            self.threads.submit(lambda: _tell_external_jobs(call))\n",
            "",
        ),
        test="engine/test_external_live.py::test_a_start_cut_off_with_its_child_is_not_waited_for[sqlite-True]",
    ),
    mutant(
        "a merge sees what failed in the stages before",
        Edit(RESULTS, "for stage in self._stages_with_gaps()]", "for stage in ()]"),
        test=f"{MERGING}::test_a_merge_is_told_of_all_that_is_missing_wherever_it_failed[sqlite]",
    ),
    mutant(
        "a merge sees what was degraded in the stages before",
        Edit(RESULTS, "tx.reading.degraded_before(self._task, self._before, rows)", "dict[int, list[str]]()"),
        test=f"{MERGING}::test_a_merge_is_told_that_a_result_was_made_from_a_degraded_one[sqlite]",
    ),
    mutant(
        "a follower of a stream learns that an item began again",
        Edit(STREAM, "[PlacedPiece(before.key, BEGAN_AGAIN, place)] if before.position >= 0 else []", "[]"),
        test=f"{STREAMS}::test_who_follows_is_told_that_an_item_began_again[sqlite]",
    ),
    mutant(
        "a stream begins again with the item",
        Edit(STREAM, "._replace(lease=lease, position=-1)", "._replace(lease=lease)"),
        test=f"{STREAMS}::test_who_follows_is_told_that_an_item_began_again[sqlite]",
    ),
    mutant(
        "a rerun needs the stages of the code",
        Edit(
            "fanfold/engine/tasks/steering/redo.py",
            "    plan = _plan_now(pipeline, row)",
            "    plan = _plan_now(pipeline, row) if pipeline else row.plan",
        ),
        test="engine/test_commands.py::test_a_rerun_where_the_code_is_not_known_is_refused_with_the_way_out[sqlite]",
    ),
    mutant(
        "a key that no database keeps names nothing",
        Edit("fanfold/store/items/query.py", "keys = [key for key in keys if is_storable(key)]", "keys = list(keys)"),
        test="engine/test_odd_text.py::test_text_that_cannot_be_kept_names_nothing",
    ),
)
