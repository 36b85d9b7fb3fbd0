"""Guards of the batch lane: what keeps a question from being sent, and paid, twice."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

CARRY = "fanfold/providers/batches/carry.py"
LANE = "fanfold/providers/batches/question_lane.py"
DELIVER = "fanfold/providers/batches/deliver.py"
QUESTIONS = "fanfold/store/rows/batched_questions.py"
BATCHES = "providers/test_batches.py"

MUTANTS = (
    mutant(
        "a batch that may exist is looked for before another one is created",
        Edit(CARRY, "        if batch.intended_at is not None:\n", "        if False:\n"),
        test=f"{BATCHES}::test_a_connection_cut_after_create_makes_no_second_batch",
    ),
    mutant(
        "a handler that asks something else in the batch lane fails",
        Edit(
            LANE,
            "        if tx.batched.answered_keys(asking.item, asking.first_lease) - asking.asked:\n",
            "        if False:\n",
        ),
        test=f"{BATCHES}::test_a_handler_that_asks_something_else_fails_and_starts_no_second_batch",
    ),
    mutant(
        "the same question of several items is sent once",
        Edit(QUESTIONS, "once = {row.key: _member(row) for row in", "once = {row.id: _member(row) for row in"),
        test=f"{BATCHES}::test_the_same_question_of_several_items_is_paid_once",
    ),
    mutant(
        "a question in a batch costs the price of the batch",
        Edit(DELIVER, "cost=usage.cost * self.provider.batch_price", "cost=usage.cost"),
        test=f"{BATCHES}::test_questions_are_answered_in_one_batch_at_half_price",
    ),
    mutant(
        "expired questions go into the next batch",
        Edit(QUESTIONS, "values(state=MemberState.COLLECTED.value, batch=None, at=self.clock.now)", "values(tries=0)"),
        test=f"{BATCHES}::test_expired_questions_go_into_the_next_batch",
    ),
    mutant(
        "a batch that nobody wants any more is cancelled at the service",
        Edit(
            CARRY, "        if batch.cancel_at is not None:\n            await", "        if False:\n            await"
        ),
        test=f"{BATCHES}::test_a_cancelled_task_cancels_its_batch_at_the_service",
    ),
    mutant(
        "a large batch is tried with one question first",
        Edit("fanfold/providers/batches/trial.py", "    if not store.settings.batch_trial or", "    if True or"),
        test=f"{BATCHES}::test_a_trial_that_is_refused_pauses_the_task_and_sends_no_batch",
    ),
    mutant(
        "questions that are over give back what they reserved",
        Edit(DELIVER, "        tx.batched.free_budgets()\n", ""),
        test=f"{BATCHES}::test_questions_in_a_batch_count_in_the_budget_at_half_price",
    ),
)
