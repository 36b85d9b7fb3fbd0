"""Guards of budgets: what is reserved, settled, kept and shown of them."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ROWS, CALLS, ASKER = (
    "fanfold/store/rows/money/budgets.py",
    "fanfold/providers/costs/call_budget.py",
    "fanfold/providers/question_asker.py",
)
STEERING, TURN = "fanfold/engine/tasks/steering/set_budget.py", "fanfold/engine/worker/turn.py"
STORE, LIVE = "store/test_budgets.py", "providers/test_budgets.py"

USED_UP = "fanfold/engine/tasks/moving/used_up.py"
OWN = "engine/test_own_costs.py"

MUTANTS = (
    mutant(
        "a task whose handlers have used up its budget is not resumed",
        Edit(USED_UP, "raise IllegalMove(_why(budget, row))", "return"),
        by="sqlite",
        test=f"{OWN}::test_a_budget_used_up_by_handlers_pauses_the_task_and_raising_it_resumes",
    ),
    mutant(
        "costs that handlers report count in the budgets of owners and days",
        Edit("fanfold/engine/worker/attempt/own_costs.py", "used_up | _charge_shared(tx, costs)", "used_up"),
        by="sqlite",
        test=f"{OWN}::TestSharedBudgets::test_one_that_is_used_up_pauses_the_task_and_raising_it_lets_it_go_on",
    ),
    mutant(
        "nothing is claimed of a closed task",
        Edit("fanfold/store/items/claim.py", "tasks.c.closed_at.is_(None), has_sample", "has_sample"),
        by="sqlite",
        test=f"{OWN}::test_nothing_is_claimed_of_a_closed_task",
    ),
    mutant(
        "a stage that spends nothing is not closed",
        Edit(USED_UP, "if not row.plan.stage(row.stage).spends:", "if False:"),
        by="sqlite",
        test=f"{OWN}::test_only_a_stage_that_may_spend_is_closed",
    ),
    mutant(
        "a stage that spends is closed when it follows one that spends nothing",
        Edit(USED_UP, 'return {"closed_at": tx.time()}', "return {}"),
        by="sqlite",
        test=f"{OWN}::test_a_stage_that_spends_waits_for_a_raise_although_one_that_does_not_came_between",
    ),
    mutant(
        "a stage that says it spends nothing does not spend twice",
        Edit("fanfold/engine/handlers/work.py", "if has_cost(usage) and not", "if False and not"),
        by="sqlite",
        test=f"{OWN}::test_a_cost_in_a_stage_that_says_it_spends_nothing_counts_and_fails_the_item",
    ),
    mutant(
        "a budget gives no more than it has",
        Edit(ROWS, "fits = used + amount <= budgets.c.cap", "fits = used <= budgets.c.cap"),
        by="sqlite",
        test=f"{STORE}::test_a_budget_gives_what_it_has_and_not_more",
    ),
    mutant(
        "what is reserved counts as used",
        Edit(
            ROWS,
            "used = budgets.c.spent + budgets.c.unknown + budgets.c.reserved",
            "used = budgets.c.spent + budgets.c.unknown",
        ),
        by="sqlite",
        test=f"{STORE}::test_a_budget_gives_what_it_has_and_not_more",
    ),
    mutant(
        "calls that may have been paid for count as used",
        Edit(
            ROWS,
            "used = budgets.c.spent + budgets.c.unknown + budgets.c.reserved",
            "used = budgets.c.spent + budgets.c.reserved",
        ),
        by="sqlite",
        test=f"{STORE}::test_settling_takes_the_reservation_back_and_adds_the_cost",
    ),
    mutant(
        "an unused budget lets one call pass",
        Edit(ROWS, "unused = sa.and_(~budgets.c.strict, used == 0, budgets.c.cap > 0)", "unused = sa.false()"),
        by="sqlite",
        test=f"{STORE}::test_an_unused_budget_is_never_full_unless_it_is_strict",
    ),
    mutant(
        "a strict budget lets no call pass that may not fit",
        Edit(ROWS, "sa.and_(~budgets.c.strict, used == 0,", "sa.and_(used == 0,"),
        by="sqlite",
        test=f"{STORE}::test_an_unused_budget_is_never_full_unless_it_is_strict",
    ),
    mutant(
        "a call that one budget refuses is reserved in none",
        Edit(CALLS, "            raise BudgetFull(plan, full)", "            return"),
        by="sqlite",
        test=f"{LIVE}::test_a_task_stops_at_its_budget_and_goes_on_when_it_is_raised",
    ),
    mutant(
        "a refused call gives its reservation back",
        Edit(ASKER, "self.budget.release(tx, begun.plan)", "pass"),
        by="sqlite",
        test=f"{LIVE}::test_what_was_refused_is_released",
    ),
    mutant(
        "a call that may have been paid for keeps its reservation",
        Edit(CALLS, "self._change(tx, plan, 0, unknown=plan.amount)\n", "self._change(tx, plan, 0)\n"),
        by="sqlite",
        test=f"{LIVE}::test_what_may_have_been_paid_stays_reserved",
    ),
    mutant(
        "an unknown price needs consent",
        Edit(CALLS, "if not plan.is_priced and not plan.rules.allow_unknown:", "if False:"),
        by="sqlite",
        test=f"{LIVE}::test_an_unknown_price_needs_consent",
    ),
    mutant(
        "a pause for a budget that was raised meanwhile is skipped",
        Edit(STEERING, 'told(found.cap) != reason.parameters["cap"]', "False"),
        by="sqlite",
        test="providers/test_call_costs.py::test_a_pause_for_a_budget_that_was_raised_meanwhile_is_passed_over",
    ),
    mutant(
        "a budget that is still used up does not resume its task",
        Edit(STEERING, "return code in USED_UP and budget.taken < budget.cap", "return code in USED_UP"),
        by="sqlite",
        test=f"{LIVE}::test_a_small_raise_does_not_resume_what_is_still_over",
    ),
)
