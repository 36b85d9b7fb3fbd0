"""Mutants of how the database's errors are sorted, how conflicts are repeated, and in which order locks are taken."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

SETTLE_BATCH = "fanfold/engine/worker/attempt/settle_batch.py"
REFUSALS, SERVER = (
    "fanfold/store/dialects/postgresql_parts/postgresql_errors.py",
    "fanfold/store/dialects/postgresql_parts/postgresql_server.py",
)
FILE = "fanfold/store/dialects/sqlite_parts/sqlite_file.py"
OPENED = "fanfold/store/dialects/sqlite_parts/opened_file.py"
STORE, WORKERS = "fanfold/store/store.py", "fanfold/store/rows/workers.py"
RECOVERY = "fanfold/store/items/recover.py"
TURN = "fanfold/engine/worker/turn.py"
SORTED = "store/test_refusals.py::test_only_errors_of_the_data_are_held_against_the_data"

MUTANTS = (
    mutant(
        "only errors of the data are held against the data",
        Edit(
            REFUSALS,
            "            return MISFIT\n        return UNREACHABLE\n",
            "            return MISFIT\n        return REFUSED\n",
        ),
        test=SORTED,
    ),
    mutant(
        "a missing prepared statement does not mean that the tables do not fit",
        Edit(REFUSALS, "if state[:2] == MISFIT_CLASS and state != STATEMENT_EXISTS:", "if state[:2] == MISFIT_CLASS:"),
        test=SORTED,
    ),
    mutant(
        "a connection in an unknown state is closed",
        Edit(REFUSALS, "connection=state in SPOILED or closed", "connection=closed"),
        test="store/test_refusals.py::test_a_connection_in_an_unknown_state_is_not_used_again",
    ),
    mutant(
        "a transaction that lost a deadlock is repeated",
        Edit(
            STORE,
            "                if not is_conflict(problem):\n                    raise\n",
            "                raise\n",
        ),
        test="store/test_refusals.py::test_a_transaction_that_lost_a_deadlock_is_repeated",
    ),
    mutant(
        "conflicts are not retried forever",
        Edit(STORE, "for attempt in range(1, CONFLICT_TRIES):", "for attempt in range(1, 5 * CONFLICT_TRIES):"),
        test="store/test_refusals.py::test_conflicts_without_end_are_told_in_the_end",
    ),
    mutant(
        "no item fails for a constraint of a newer database",
        Edit(TURN, "    if misfit is not None:\n        # An", "    if False:\n        # An"),
        test="engine/test_settlement.py::test_no_item_fails_for_a_constraint_that_an_upgrade_brought",
    ),
    mutant(
        "limits are locked by name",
        Edit(WORKERS, "for name in sorted(sizes)])", "for name in sizes])"),
        test="engine/test_lock_order.py::test_limits_are_locked_by_name",
    ),
    mutant(
        "items are settled by id, even if their state has changed",
        Edit(SETTLE_BATCH, "    if len(groups) > 1:\n", "    if False:\n"),
        test="engine/test_lock_order.py::test_items_are_settled_by_id_whatever_became_of_them",
    ),
    mutant(
        "the sweep does not wait for locks",
        Edit(
            RECOVERY,
            "with_for_update(skip_locked=True, key_share=True, of=items)",
            "with_for_update(key_share=True, of=items)",
        ),
        test="engine/test_lock_order.py::test_the_sweep_waits_for_nobody",
        note="it would wait for as long as the other's transaction lasts",
    ),
    mutant(
        "nothing is prepared behind a pooler",
        Edit(SERVER, "                connection.prepare_threshold = None\n", ""),
        test="store/test_poolers.py::test_a_pooler_is_noticed_or_told_and_nothing_outlives_a_transaction",
    ),
    mutant(
        "a pooler is noticed",
        Edit(
            "fanfold/store/dialects/poolers.py",
            "self.found = server != connection.info.backend_pid",
            "self.found = server is None",
        ),
        test="store/test_poolers.py::test_a_pooler_is_noticed_or_told_and_nothing_outlives_a_transaction",
    ),
    mutant(
        "a moved database file is noticed",
        Edit(FILE, "            self._opened.check()\n        except", "            pass\n        except"),
        test="store/test_database.py::test_a_file_that_is_moved_away_is_missed_at_once_and_nothing_is_written_to_it",
    ),
    mutant(
        "no empty file replaces a database file that was moved away",
        Edit(OPENED, "?mode=rw", "?mode=rwc"),
        Edit(OPENED, "    if is_new(path):\n", "    if False:\n"),
        test="store/test_moved_file.py::test_looking_at_a_database_that_does_not_exist_creates_none",
    ),
    mutant(
        "no database is created where a log shows that there was one",
        Edit(OPENED, "    if not logs or _size(path):", "    if True:"),
        test="store/test_moved_file.py::test_nothing_is_lost_when_others_look_for_a_file_that_is_moved_away_and_put_back",
    ),
    mutant(
        "nothing is written to a log that was removed",
        Edit(FILE, "if not opened_file.has_its_log(opened):", "if False:"),
        test="store/test_moved_file.py::test_a_living_process_goes_on_with_the_right_log_when_another_program_removed_its_own",
    ),
)
