"""Guards of what people see: degraded results, waiting, usage."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

SETTLING, RESETTING = "fanfold/store/settling.py", "fanfold/store/resetting.py"
CONTEXT, ASKING = "fanfold/engine/context.py", "fanfold/providers/asking.py"
DEGRADED, PDF = "engine/test_degraded.py", "apps/pdf/test_pipeline.py"

MUTANTS = (
    mutant(
        "a degraded result is marked with the settle that finishes it",
        Edit(
            SETTLING,
            "        if rows:\n            run(self.connection, degraded_statement",
            "        if not rows:\n            run(self.connection, degraded_statement",
        ),
        test=f"{DEGRADED}::test_a_degraded_item_is_done_and_marked_with_its_reason",
    ),
    mutant(
        "a finish without a mark clears the one of an earlier result",
        Edit(SETTLING, '"finished_at": clock.now, "degraded": None}', '"finished_at": clock.now}'),
        test=f"{DEGRADED}::test_a_mark_that_an_older_version_left_behind_goes_with_the_next_result",
    ),
    mutant(
        "an item that is redone loses its mark at once",
        Edit(RESETTING, '    "degraded": None,\n', ""),
        test=f"{DEGRADED}::test_only_the_degraded_items_are_redone_with_the_options_given",
    ),
    mutant(
        "an answer of a later model of the chain is marked",
        Edit(CONTEXT, "if answer.fallback:", "if False:"),
        test=f"{PDF}::test_a_page_of_a_later_model_of_the_chain_is_degraded",
    ),
)
