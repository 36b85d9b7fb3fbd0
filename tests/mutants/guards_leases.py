"""Guards of claiming and settling: nothing is written without the lease."""

from __future__ import annotations

from tests.mutants.mutant import Edit, Mutant, mutant

SETTLING = "fanfold/store/items/settle.py"
ITEMS, LOOKING = "fanfold/store/items/claim.py", "fanfold/store/items/find_work.py"
VERBS = ("finish", "fail", "back_off", "postpone", "release", "reclaim")
NAMES = {"reclaim": "a worker's reclaim"}
"""What the sweep does is another guard."""
HELD = "held = [items.c.id == batch.c.id, items.c.lease == batch.c.lease, running]"


def without_lease(verb: str) -> Mutant:
    """The verb settles whatever lease the item has by now."""
    instead = (
        f'held = [items.c.id == batch.c.id, items.c.lease == batch.c.lease, running][:: 2 if ending == "{verb}" else 1]'
    )
    test = f"store/test_settling.py::test_a_stale_worker_changes_nothing_at_all[sqlite-{verb}]"
    return mutant(f"the lease in {NAMES.get(verb, verb)}", Edit(SETTLING, HELD, instead), by="sqlite", test=test)


def without_running(verb: str) -> Mutant:
    """The verb settles an item whatever state it is in."""
    instead = f'{HELD}[: 2 if ending == "{verb}" else 3]'
    test = f"store/test_settling.py::test_an_item_is_settled_once[sqlite-{verb}]"
    return mutant(f"“is running” in {NAMES.get(verb, verb)}", Edit(SETTLING, HELD, instead), by="sqlite", test=test)


SETTLING_MUTANTS = (
    *(without_lease(verb) for verb in VERBS),
    *(without_running(verb) for verb in VERBS),
    mutant(
        "“the task is active and in this stage” in settling",
        Edit(SETTLING, "if ending.needs_task:", "if False:"),
        by="sqlite",
        test="store/test_settling.py::test_no_result_is_taken_for_a_task_that_is_not_active[sqlite-finish-pause]",
    ),
    mutant(
        "the lease in progress and emit",
        Edit(SETTLING, 'sa.bindparam("wanted"), items.c.lease == sa.bindparam("shown")', 'sa.bindparam("wanted")'),
        test="store/test_settling.py::test_progress_and_memory_need_the_lease_too[sqlite-note_progress]",
    ),
    mutant(
        "“is running” in progress and emit",
        Edit(SETTLING, 'sa.bindparam("shown"), RUNNING)', 'sa.bindparam("shown"))'),
        test="mutants/test_guards.py::test_what_was_handed_back_cannot_be_written_to_by_its_old_holder",
    ),
    mutant(
        "the row lock in progress and emit (PostgreSQL)",
        Edit(
            SETTLING,
            'sa.bindparam("shown"), RUNNING)\n    .with_for_update()',
            'sa.bindparam("shown"), RUNNING)',
        ),
        test="mutants/test_guards.py::test_nobody_takes_an_item_away_while_it_is_written_to",
    ),
)
CLAIM_MUTANTS = (
    mutant(
        "a new lease with every claim",
        Edit(ITEMS, '"lease": items.c.lease + 1,', '"lease": sa.case((items.c.lease == 0, 1), else_=items.c.lease),'),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_a_lease_only_grows",
    ),
    mutant(
        "“the task is active” in claiming and settling",
        Edit(
            ITEMS,
            "tasks.c.number == number, ACTIVE, tasks.c.stage",
            "tasks.c.number == number, tasks.c.stage",
        ),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_a_task_that_is_not_active_gives_no_items",
    ),
    mutant(
        "“the task is in this stage” in claiming and settling",
        Edit(
            ITEMS,
            "tasks.c.number == number, ACTIVE, tasks.c.stage == stage",
            "tasks.c.number == number, ACTIVE",
        ),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_a_stage_that_the_task_has_left_gives_no_items",
    ),
    mutant(
        "“the task is active and in this stage” in claiming",
        Edit(
            ITEMS,
            "sa.update(items).where(chosen, active)",
            "sa.update(items).where(chosen)",
        ),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_a_task_that_is_not_active_gives_no_items",
    ),
    mutant(
        "“is pending” in the claim",
        Edit(
            ITEMS,
            'where(translate(PENDING), candidate.c.id > sa.bindparam("cursor"))',
            'where(candidate.c.id > sa.bindparam("cursor"))',
        ),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_items_are_claimed_in_order_and_never_more_than_asked",
    ),
    mutant(
        "the due time in the claim",
        Edit(ITEMS, "where(translate(TIMED), candidate.c.available_at <= clock.now)", "where(translate(TIMED))"),
        test="store/test_claim.py::TestClaim::test_an_item_is_due_when_its_time_has_come_and_not_before",
    ),
    mutant(
        "nothing behind its sample is claimed of a task",
        Edit(ITEMS, "if sampled else tasks.c.sample.is_(None)", "if sampled else sa.true()"),
        test="engine/test_sampling.py::test_two_workers_process_exactly_the_sample_and_everything_after_a_resume[sqlite]",
    ),
    mutant(
        "the due time in the search for work",
        Edit(LOOKING, "where(TIMED, items.c.available_at <= clock.now, passed)", "where(TIMED, passed)"),
        test="store/test_claim.py::TestClaim::test_an_item_is_due_when_its_time_has_come_and_not_before",
    ),
    mutant(
        "no more than asked for in a claim",
        Edit(ITEMS, 'picked.limit(sa.bindparam("count", type_=sa.Integer)).with', "picked.with"),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_items_are_claimed_in_order_and_never_more_than_asked",
    ),
    mutant(
        "`= ANY(ARRAY(…))` around the limited choice (PostgreSQL)",
        Edit(
            "fanfold/store/dialects/postgresql.py",
            "return column == sa.any_(sa.func.array(limited.scalar_subquery()))",
            "return column.in_(limited)",
        ),
        test="mutants/test_guards.py::test_a_claim_never_takes_more_than_asked_whatever_the_plan",
    ),
    mutant(
        "FOR UPDATE in the claim (PostgreSQL)",
        Edit(ITEMS, "type_=sa.Integer)).with_for_update(skip_locked=True)", "type_=sa.Integer))"),
        by="postgresql",
        test="store/test_claim.py::TestClaim::test_two_workers_never_get_the_same_item[postgresql]",
    ),
    mutant(
        "SKIP LOCKED in the claim (PostgreSQL)",
        Edit(ITEMS, "with_for_update(skip_locked=True)", "with_for_update()"),
        test="mutants/test_guards.py::test_a_claim_does_not_wait_for_another_one",
        note="for speed: without it claims queue up behind each other",
    ),
)
MUTANTS = (*SETTLING_MUTANTS, *CLAIM_MUTANTS)
