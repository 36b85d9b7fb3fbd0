"""Guards of the batch lane: what keeps a question from being sent, and paid, twice."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

CARRY = "fanfold/providers/batches/batch_round.py"
ENDING = "fanfold/providers/batches/batch_end.py"
LANE = "fanfold/providers/batches/question_lane.py"
DELIVER = "fanfold/providers/batches/deliver.py"
QUESTIONS = "fanfold/store/rows/money/batched_questions.py"
BATCHES = "providers/test_batches.py"
BAD = "providers/test_batch_bad_answers.py"
LOST = "providers/test_lost_batches.py"
FROZEN = "providers/test_frozen_worker.py::test_a_worker_frozen_between_intent_and_create_costs_nothing_twice"
CRASHES = "providers/test_batch_crashes.py::test_workers_killed_at_every_step_of_a_batch_cost_nothing_twice"
SHARED = "providers/test_batch_money.py"

MUTANTS = (
    mutant(
        "Fanfold searches for a batch that may exist before it creates another one",
        Edit(CARRY, "        if batch.intended_at is not None:\n", "        if False:\n"),
        test=f"{BATCHES}::test_a_connection_cut_after_create_makes_no_second_batch",
    ),
    mutant(
        "a worker that was frozen does not create a batch that another one has taken over",
        Edit(CARRY, "            raise BatchTaken\n\n    async def", "            pass\n\n    async def"),
        test=f"{FROZEN}[sqlite-openai-before_create]",
    ),
    mutant(
        "a second batch that a frozen worker has created is cancelled",
        Edit(
            CARRY,
            "        await connection.batches.cancel(job)\n\n    async def _withdraw",
            "\n    async def _withdraw",
        ),
        test=f"{FROZEN}[sqlite-anthropic-before_last_request]",
    ),
    mutant(
        "a worker that was frozen does not refuse questions that another one has sent",
        Edit(ENDING, '        self._check_hold(tx, "refuse")\n', ""),
        test=f"{FROZEN}[sqlite-openai-before_last_request]",
    ),
    mutant(
        "a batch whose results were all read is not read again",
        Edit(CARRY, "        if batch.read_at is None:\n", "        if True:\n"),
        by="sqlite",
        test="providers/test_batches.py::test_results_that_were_all_read_are_not_read_again_after_a_crash",
    ),
    mutant(
        "a handler that asks a different question in the batch lane fails",
        Edit(
            LANE,
            "        if skipped and not tx.calls.has_asked(asking.item, asking.first_lease, new.key):\n",
            "        if False:\n",
        ),
        test=f"{BATCHES}::test_a_handler_that_asks_something_else_fails_and_starts_no_second_batch",
    ),
    mutant(
        "an answer that left the cache between two attempts is no changed question",
        Edit(LANE, " and not tx.calls.has_asked(asking.item, asking.first_lease, new.key):\n", ":\n"),
        test=f"{BAD}::test_an_answer_that_leaves_the_cache_between_two_attempts_is_no_changed_question",
    ),
    mutant(
        "a bad answer is noted in every question that got it",
        Edit(LANE, "        tx.batched.reject(key, code, raw)\n", ""),
        test=f"{BAD}::test_a_bad_answer_to_the_same_question_of_several_items_is_paid_once",
    ),
    mutant(
        "a batch that the service does not have is not given up without a person",
        Edit(CARRY, "        if is_gone and batch.cancel_at is not None:\n", "        if is_gone:\n"),
        test=f"{LOST}::test_a_batch_that_the_service_lost_waits_until_a_person_gives_it_up",
    ),
    mutant(
        "questions of a lost batch count as possibly paid",
        Edit(
            ENDING, "        tx.batched.free_budgets(lost=lost_at is not None)\n", "        tx.batched.free_budgets()\n"
        ),
        test=f"{LOST}::test_a_batch_that_the_service_lost_waits_until_a_person_gives_it_up",
    ),
    mutant(
        "the same question of several items is sent once",
        Edit(QUESTIONS, "once = {row.key: _member(row) for row in", "once = {row.id: _member(row) for row in"),
        test=f"{BATCHES}::test_the_same_question_of_several_items_is_paid_once",
    ),
    mutant(
        "a question in a batch costs the price of the batch",
        Edit("fanfold/providers/costs/prices.py", "provider.batch_price if lane == BATCH else 1.0", "1.0"),
        test=f"{BATCHES}::test_questions_are_answered_in_one_batch_at_half_price",
    ),
    mutant(
        "expired questions go into the next batch",
        Edit(QUESTIONS, "values(state=MemberState.COLLECTED.value, batch=None, at=self.clock.now)", "values(tries=0)"),
        test=f"{BATCHES}::test_expired_questions_go_into_the_next_batch",
    ),
    mutant(
        "a batch that is no longer wanted is cancelled at the service",
        Edit(
            CARRY,
            "        if batch.cancel_at is not None:\n            await connection",
            "        if False:\n            await connection",
        ),
        test=f"{BATCHES}::test_a_cancelled_task_cancels_its_batch_at_the_service",
    ),
    mutant(
        "a large batch is tried with one question first",
        Edit("fanfold/providers/batches/trial.py", "    if not store.settings.batch_trial or", "    if True or"),
        test=f"{BATCHES}::test_a_trial_that_is_refused_pauses_the_task_and_sends_no_batch",
    ),
    mutant(
        "ended questions give back what they reserved",
        Edit(DELIVER, "        tx.batched.free_budgets()\n", ""),
        test=f"{BATCHES}::test_questions_in_a_batch_count_in_the_budget_at_half_price",
    ),
    mutant(
        "a deleted task leaves what its sent questions reserved until their outcome is known",
        Edit(QUESTIONS, "where(mine, sa.not_(SENT)).order_by", "where(mine).order_by"),
        Edit(QUESTIONS, "where(batch_members.c.id.in_(some), sa.not_(OPEN))", "where(batch_members.c.id.in_(some))"),
        by="sqlite",
        test=f"{SHARED}::test_a_deleted_task_pays_what_its_batch_has_answered_and_gives_back_the_rest",
    ),
    mutant(
        "a lost call that was repeated under its key gives its reservation back",
        Edit("fanfold/providers/costs/call_budget.py", "(0, -call.reserved) if is_held", "(0, 0) if is_held"),
        by="sqlite",
        test="providers/test_budgets.py::test_a_lost_call_repeated_under_its_key_gives_its_reservation_back",
    ),
)
