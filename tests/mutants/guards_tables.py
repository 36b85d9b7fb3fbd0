"""Guards that the database itself keeps: checks, triggers, unique indexes."""

from __future__ import annotations

from tests.mutants.mutant import Edit, Mutant, mutant

SCHEMA = "fanfold/store/upgrade/migrations/versions/0001_first_schema.py"
BATCH_SCHEMA = "fanfold/store/upgrade/migrations/versions/0045_batch_moves.py"
CHECKS = {
    "the state of an item is a known one": "\"state IN ('pending', 'running', 'retrying', 'waiting', 'done', 'failed')\"",
    "what runs, and only that, has a worker": "\"(state = 'running') = (worker IS NOT NULL)\"",
    "what waits for a time, and only that, has one": "\"(state IN ('retrying', 'waiting')) = (available_at IS NOT NULL)\"",
    "what is settled, and only that, has an end": "\"(state IN ('done', 'failed')) = (finished_at IS NOT NULL)\"",
    "what runs or is done had a lease": "\"state NOT IN ('running', 'done') OR lease > 0\"",
}
TASK_CHECKS = {
    "the state of a task is a known one": (
        "\"state IN ('active', 'waiting', 'paused', 'completed', 'partial', 'failed', 'cancelled')\""
    ),
    "what is finished, and only that, has an end": (
        "\"(state IN ('completed', 'partial', 'failed', 'cancelled')) = (finished_at IS NOT NULL)\""
    ),
    "what a compensation leads to is a known state": "\"ending IS NULL OR ending IN ('failed', 'cancelled')\"",
}
ILLEGAL = "OLD.state <> NEW.state AND NOT ("
TRIGGERS = {
    "sqlite": "CREATE TRIGGER {0}_legal_move BEFORE UPDATE OF state ON {0} WHEN ",
    "postgresql": "CREATE TRIGGER {0}_legal_move BEFORE UPDATE OF state ON {0} FOR EACH ROW WHEN (",
}


def without_check(guard: str, condition: str, test: str) -> Mutant:
    """The database takes what contradicts itself."""
    return mutant(f"CHECK: {guard}", Edit(SCHEMA, condition, '"1 = 1"'), test=f"store/test_guards.py::{test}")


def without_trigger(dialect: str, table: str, test: str, schema: str = SCHEMA) -> Mutant:
    """The database takes any change of state."""
    begin = TRIGGERS[dialect].format(table)
    return mutant(
        f"trigger: {table} change their state along the table of moves ({dialect})",
        Edit(schema, begin + ILLEGAL, f"{begin}1 = 0 AND {ILLEGAL}"),
        test=f"store/test_guards.py::{test}",
    )


MUTANTS = (
    *(
        without_check(guard, condition, "test_an_item_that_contradicts_itself_cannot_be_kept")
        for guard, condition in CHECKS.items()
    ),
    *(
        without_check(guard, condition, "test_a_task_that_contradicts_itself_cannot_be_kept")
        for guard, condition in TASK_CHECKS.items()
    ),
    *(
        without_trigger(
            dialect, table, f"{test}[{dialect}-done]" if table == "items" else f"{test}[{dialect}-completed]"
        )
        for dialect in TRIGGERS
        for table, test in (
            ("items", "test_an_item_changes_its_state_only_along_the_table"),
            ("tasks", "test_a_task_changes_its_state_only_along_the_table"),
        )
    ),
    *(
        without_trigger(dialect, table, f"{test}[{dialect}-{state}]", BATCH_SCHEMA)
        for dialect in TRIGGERS
        for table, test, state in (
            ("batches", "test_a_batch_changes_its_state_only_along_the_table", "done"),
            ("batch_members", "test_a_question_in_the_batch_lane_changes_its_state_only_along_the_table", "answered"),
        )
    ),
    mutant(
        "unique: the position of an item",
        Edit(
            SCHEMA,
            '"items_order", "items", ["task", "stage", "seq"], unique=True',
            '"items_order", "items", ["task", "stage", "seq"]',
        ),
        test="store/test_guards.py::test_a_position_and_a_key_are_unique_within_a_stage[sqlite]",
    ),
    mutant(
        "unique: the key of an item",
        Edit(
            SCHEMA,
            '"items_key", "items", ["task", "stage", "key"], unique=True',
            '"items_key", "items", ["task", "stage", "key"]',
        ),
        test="store/test_guards.py::test_a_position_and_a_key_are_unique_within_a_stage[sqlite]",
    ),
)
