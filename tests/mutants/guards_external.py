"""Guards of items that wait for a person, and of external jobs: nothing is started twice."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

HOLD = "engine/test_hold.py"

MUTANTS = (
    mutant(
        "a held item is not due in ten years",
        Edit(
            "fanfold/store/settling.py",
            '[{**row, "delay": HELD_SECONDS} for row in rows]',
            '[{**row, "delay": 5 * 365 * 86_400.0} for row in rows]',
        ),
        test=f"{HOLD}::test_a_held_item_waits_for_a_person_while_the_others_go_on[sqlite]",
    ),
    mutant(
        "a held item is nothing that falls due",
        Edit("fanfold/store/looking.py", "where(DUE_SOME_TIME, items.c", "where(TIMED, items.c"),
        test=f"{HOLD}::test_nothing_falls_due_because_of_a_held_item[sqlite]",
    ),
    mutant(
        "a held compensation can be told to go on",
        Edit("fanfold/model/words.py", 'if verb == "retry" and facts.held:', "if False:"),
        test=f"{HOLD}::test_a_compensation_that_is_held_can_be_told_to_go_on[sqlite]",
    ),
)
