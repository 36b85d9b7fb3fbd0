"""Guards of schedules: each due time is dealt with once."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

FIRE, ROWS = "fanfold/engine/tasks/scheduling/fire.py", "fanfold/store/rows/schedules.py"
HERE = "engine/test_schedules.py"
MUTANTS = (
    mutant(
        "a due time is dealt with only as it was seen",
        Edit(
            ROWS,
            "            mine.append(column.is_(None) if value is None else column == value)\n",
            "            pass\n",
        ),
        test=f"{HERE}::test_a_worker_that_saw_an_old_due_time_submits_nothing[sqlite]",
    ),
    mutant(
        "overlap `skip` leaves a run out",
        Edit(
            FIRE,
            "        if seen.overlap == Overlap.ALLOW:\n            return False\n",
            "        if True:\n            return False\n",
        ),
        Edit(FIRE, "return seen.overlap == Overlap.ALLOW or not tx.schedules.is_running(seen.number)", "return True"),
        test=f"{HERE}::test_overlap_skip_leaves_a_run_out_while_one_is_unfinished[sqlite]",
    ),
)
