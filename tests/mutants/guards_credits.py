"""Guards of credits: what is charged, what is refunded, and who may see it."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ROWS, BOOKING = "fanfold/store/rows/money/credits.py", "fanfold/engine/credits/booking.py"
SETTLING, ACCOUNTS = "fanfold/engine/credits/settling.py", "fanfold/engine/credits/accounts.py"
MOVES, REDO = "fanfold/engine/tasks/moving/transitions.py", "fanfold/engine/tasks/steering/redo.py"
DELIVERIES = "fanfold/engine/webhooks/deliveries.py"
PRICE = "fanfold/engine/credits/price.py"
TESTS, RETRIES = "engine/test_credits.py", "engine/test_credits_of_retries.py"

MUTANTS = (
    mutant(
        "an account is not overdrawn",
        Edit(
            ROWS,
            "sa.and_(credit_accounts.c.owner == owner, credit_accounts.c.balance >= amount)",
            "credit_accounts.c.owner == owner",
        ),
        by="sqlite",
        test=f"{TESTS}::test_a_race_that_passed_the_early_check_is_refused_in_the_transaction",
    ),
    mutant(
        "a task that cannot be paid for is not begun",
        Edit(BOOKING, "raise not_enough(tx, owner, -total)", "return added"),
        by="sqlite",
        test=f"{TESTS}::test_a_race_that_passed_the_early_check_is_refused_in_the_transaction",
    ),
    mutant(
        "only entries that are new change the balance",
        Edit(BOOKING, "added = tx.credits.add(entries)", "tx.credits.add(entries)\n    added = list(entries)"),
        by="sqlite",
        test=f"{TESTS}::test_the_same_key_grants_once",
    ),
    mutant(
        "what was refunded is not refunded again",
        Edit(
            SETTLING,
            "units = [unit for unit in tx.credits.units(row.id) if not unit.is_refunded]",
            "units = [unit._replace(generation=unit.generation + unit.is_refunded)"
            " for unit in tx.credits.units(row.id)]",
        ),
        by="sqlite",
        test=f"{TESTS}::test_a_retry_charges_only_what_it_works_on",
    ),
    mutant(
        "a task at rest is refunded",
        Edit(MOVES, "    refund_undelivered(tx, row, target, actor)\n", ""),
        by="sqlite",
        test=f"{TESTS}::test_partial_success_refunds_the_failed_items",
    ),
    mutant(
        "a retry after a refund is charged",
        Edit(REDO, "    charge_retry(tx, row, actor, wanted, keys=redo.keys, degraded=redo.degraded, new=price)\n", ""),
        by="sqlite",
        test=f"{TESTS}::test_a_failed_task_costs_nothing_and_its_retry_is_charged_under_a_new_generation",
    ),
    mutant(
        "a rerun is charged",
        Edit(REDO, "    charge_rerun(tx, row, actor, price)\n", ""),
        by="sqlite",
        test=f"{TESTS}::test_items_that_were_never_made_are_refunded",
    ),
    mutant(
        "a charge after a refund has a new generation",
        Edit(SETTLING, "unit.item, unit.generation + 1, actor", "unit.item, unit.generation, actor"),
        by="sqlite",
        test=f"{TESTS}::test_a_partial_task_gets_its_failures_back_and_pays_for_their_retry",
    ),
    mutant(
        "items that stay failed are not charged again",
        Edit(SETTLING, "return (existing - stay_failed)", "return existing"),
        by="sqlite",
        test=f"{TESTS}::test_a_retry_charges_only_what_it_works_on",
    ),
    mutant(
        "what was delivered before a merge failed stays paid",
        Edit(SETTLING, "if target is TaskState.FAILED and not has_completed:", "if target is TaskState.FAILED:"),
        by="sqlite",
        test=f"{TESTS}::test_a_merge_that_fails_refunds_its_items_unless_they_were_delivered_before",
    ),
    mutant(
        "a rerun keeps the price",
        Edit(REDO, "plan = replace(pipeline.plan(), priced=row.plan.priced, ", "plan = replace(pipeline.plan(), "),
        by="sqlite",
        test=f"{TESTS}::test_items_that_were_never_made_are_refunded",
    ),
    mutant(
        "an owner does not see the credits of others",
        Edit(ACCOUNTS, "if owner not in (None, own):", "if False:"),
        by="sqlite",
        test=f"{TESTS}::test_an_owner_sees_and_spends_only_its_own_credits",
    ),
    mutant(
        "an owner does not grant itself credits",
        Edit(ACCOUNTS, "if self._client.owner is not None:", "if False:"),
        by="sqlite",
        test=f"{TESTS}::test_an_owner_sees_and_spends_only_its_own_credits",
    ),
    mutant(
        "another ledger is told until it accepts",
        Edit(
            DELIVERIES,
            "@ledger.each(name=STAGE, retry=Retry(limit=LEDGER_TRIES),",
            "@ledger.each(name=STAGE, retry=Retry(limit=len(DELAYS)),",
        ),
        by="sqlite",
        test=f"{TESTS}::test_another_ledger_is_told_until_it_accepts",
    ),
    mutant(
        "a retry with other options costs what these cost",
        Edit(SETTLING, "    if new is not None:\n", "    if False:\n"),
        by="sqlite",
        test=f"{RETRIES}::test_a_failed_picture_is_charged_again_at_the_new_price",
    ),
    mutant(
        "a rerun costs what the task did when it was submitted",
        Edit(SETTLING, "return [unit._replace(amount=submitted[unit.item]) for unit in units]", "return units"),
        by="sqlite",
        test=f"{RETRIES}::test_a_rerun_costs_what_the_task_did_and_not_what_a_retry_did",
    ),
    mutant(
        "a rerun costs what the new options of the task cost",
        Edit(REDO, 'values["plan"] = replace(row.plan, repriced=True).to_json()', "pass"),
        by="sqlite",
        test=f"{RETRIES}::test_a_rerun_costs_what_the_new_options_of_the_task_cost",
    ),
    mutant(
        "a rerun is not charged at a price for other options",
        Edit(
            SETTLING,
            "    if not is_asked_again(tx, row):\n",
            "    if price.units is None or not is_asked_again(tx, row):\n",
        ),
        by="sqlite",
        test=f"{RETRIES}::test_a_rerun_whose_options_change_meanwhile_is_refused",
    ),
    mutant(
        "what was paid at another price and is not delivered is refunded by a rerun",
        Edit(SETTLING, "unit.item not in delivered and unit.amount != now[unit.item]", "False"),
        by="sqlite",
        test=f"{RETRIES}::test_a_rerun_before_a_dear_retry_has_delivered_refunds_it",
    ),
    mutant(
        "a free rerun does not refund what was delivered before",
        Edit(SETTLING, "if unit.amount or unit.generation >= 0", "if unit.amount"),
        by="sqlite",
        test=f"{RETRIES}::test_what_was_delivered_stays_paid_when_a_cheap_rerun_is_cancelled",
    ),
    mutant(
        "a retry costs what the options of earlier retries cost",
        Edit(PRICE, "said |= serial.load(stage.get(key), reading=pipeline.kept_types.lenient) or {}", "pass"),
        by="sqlite",
        test=f"{RETRIES}::test_a_retry_costs_what_the_options_of_earlier_retries_cost",
    ),
    mutant(
        "a named done item costs what the new options of the task cost",
        Edit(SETTLING, "- (done - set(keys))", "- done"),
        by="sqlite",
        test=f"{RETRIES}::test_a_done_picture_that_is_named_costs_what_the_new_options_of_the_task_cost",
    ),
)
