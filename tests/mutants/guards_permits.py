"""Guards of limits across workers."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

SETTLE_BATCH = "fanfold/engine/worker/attempt/settle_batch.py"
WORKERS = "fanfold/store/rows/workers.py"
SWEEP = "fanfold/engine/tasks/recovery/sweep.py"
FREE_AT_SETTLE = Edit(SETTLE_BATCH, "        tx.settling.free_permits(permits)\n", "")
FREE_AT_RECLAIM = Edit(SWEEP, "        tx.settling.free_permits([item.id for item in lost])\n", "")
FREE_WHEN_IDLE = Edit(SWEEP, "    tx.settling.free_permits([item.id for item in idle])\n", "")
DROP_STALE = Edit(SWEEP, "    tx.workers.drop_stale_permits()\n", "")
SETTLING = "engine/test_settlement.py"
MUTANTS = (
    mutant(
        "an item whose result is no longer wanted is handed back at once",
        Edit(SETTLE_BATCH, "worker) if left else set()", "worker) if False else set()"),
        test=f"{SETTLING}::test_a_result_that_nobody_wants_any_more_frees_its_permit_at_once",
    ),
    mutant(
        "the permit of such an item is freed with it",
        Edit(
            SETTLE_BATCH,
            "if one.claimed.has_permit and one.claimed.id in moved | handed_back]",
            "if one.claimed.has_permit and one.claimed.id in moved]",
        ),
        test=f"{SETTLING}::test_a_result_that_nobody_wants_any_more_frees_its_permit_at_once",
    ),
    mutant(
        "what an attempt has spent counts even if its lease is lost",
        Edit(SETTLE_BATCH, "    if not spent:\n", "    if True:\n"),
        test=f"{SETTLING}::test_what_an_attempt_has_spent_counts_also_when_its_lease_is_lost",
    ),
    mutant(
        "what an attempt has spent counts once, even if a turn is repeated",
        Edit(SETTLE_BATCH, " if pair not in known]", "]"),
        test=f"{SETTLING}::test_what_an_attempt_has_spent_counts_also_when_its_lease_is_lost",
    ),
    mutant(
        "one transaction writes a bounded number of endings",
        Edit("fanfold/engine/worker/turn.py", "while (count := _fitting(settled)) < len(settled):", "while False:"),
        test=f"{SETTLING}::test_many_endings_are_written_in_transactions_of_a_bounded_number_of_rows",
    ),
    mutant(
        "the lock of a limit's row (PostgreSQL)",
        Edit(
            WORKERS,
            'made.on_conflict_do_update(index_elements=["name"], set_={"size": made.excluded.size}, where=is_new)',
            "made.on_conflict_do_nothing()",
        ),
        by="postgresql",
        test="engine/test_claiming.py::test_a_limit_holds_against_many_who_claim_at_once[postgresql]",
    ),
    mutant(
        "a claim counts the permits that are out",
        Edit(WORKERS, "max(0, size - int(taken.get(name, 0)))", "size"),
        by="sqlite",
        test="engine/test_claiming.py::test_a_limit_across_all_workers_is_never_exceeded",
    ),
    mutant(
        "a permit for each claim",
        Edit(
            "fanfold/engine/worker/claiming/claim.py",
            '            tx.workers.grant(".".join(pair), [one.id for one in claimed])\n',
            "",
        ),
        by="sqlite",
        test="store/test_settling.py::test_a_permit_is_held_while_an_item_runs",
    ),
    mutant(
        "a permit is given back with the result",
        FREE_AT_SETTLE,
        by="sqlite",
        test="store/test_settling.py::test_a_permit_is_held_while_an_item_runs",
    ),
    mutant(
        "only the worker that moved the item gives its permit back",
        Edit(
            SETTLE_BATCH,
            "if one.claimed.has_permit and one.claimed.id in moved | handed_back]",
            "if one.claimed.has_permit]",
        ),
        by="sqlite",
        test="store/test_settling.py::test_a_stale_worker_does_not_free_the_permit_of_the_new_one",
    ),
    mutant(
        "permits of dead workers are given back, in both ways",
        FREE_AT_RECLAIM,
        DROP_STALE,
        by="sqlite",
        test="engine/test_claiming.py::test_a_crash_frees_the_permits_of_its_worker",
        note="with the reclaim, and by the sweep's search for stale ones",
    ),
    mutant(
        "permits of items that are no longer wanted are given back, in both ways",
        FREE_WHEN_IDLE,
        DROP_STALE,
        test="engine/test_sweep.py::test_items_that_nobody_wants_are_handed_back_if_their_worker_does_not[sqlite-pause]",
    ),
    mutant(
        "the sweep's search for stale permits",
        DROP_STALE,
        test="mutants/test_guards.py::test_a_permit_that_nobody_holds_is_dropped",
        note="the second line behind every way to give one back",
    ),
    mutant(
        "a permit belongs to an item and a lease",
        Edit(
            WORKERS,
            "items.c.id == permits.c.item, items.c.lease == permits.c.lease, RUNNING)",
            "items.c.id == permits.c.item, RUNNING)",
        ),
        test="mutants/test_guards.py::test_a_permit_that_nobody_holds_is_dropped",
    ),
    mutant(
        "a limit is written only when it is new",
        Edit(WORKERS, ", where=is_new)", ")"),
        by="sqlite",
        test="mutants/test_guards.py::test_a_limit_is_written_only_when_it_is_new",
    ),
)
