"""Guards of paid answers: each question is asked once."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ANSWERS = "fanfold/store/rows/money/answers.py"
RESERVING = "fanfold/store/rows/money/answer_statements.py"
ASKER = "fanfold/providers/question_asker.py"
FLIGHTS = "fanfold/providers/flights.py"
ATTEMPTS = "fanfold/engine/worker/attempt/attempts.py"
CHILDREN = "fanfold/engine/worker/processes/children.py"
LEAVE = "providers/test_waiting_for_leave.py"
MUTANTS = (
    mutant(
        "only one worker asks a given question at a time",
        Edit(RESERVING, "where=sa.and_(answers.c.body.is_(None), abandoned)", "where=answers.c.body.is_(None)"),
        test="store/test_answers.py::test_a_question_is_asked_by_one_at_a_time",
    ),
    mutant(
        "an answered question is not asked again",
        Edit(RESERVING, "where=sa.and_(answers.c.body.is_(None), abandoned)", "where=abandoned"),
        test="mutants/test_guards.py::test_what_is_answered_is_not_asked_again_however_long_ago_it_was_asked",
    ),
    mutant(
        "a question that a dead worker was asking may be asked at once",
        Edit(RESERVING, "sa.and_(answers.c.worker.is_not(None), answers.c.worker.not_in(alive))", "sa.false()"),
        test="store/test_answers.py::test_what_a_dead_worker_began_to_ask_is_asked_at_once",
    ),
    mutant(
        "only the worker that asks may give up the question",
        Edit(ANSWERS, "answers.c.key == key, answers.c.asked_by == asker, answers", "answers.c.key == key, answers"),
        test="store/test_answers.py::test_a_question_is_asked_by_one_at_a_time",
    ),
    mutant(
        "only one attempt of a worker asks a given question at a time",
        Edit(FLIGHTS, "known = self._under_way.get(key)", "known = None"),
        test="providers/test_asking.py::test_a_question_that_is_under_way_is_not_asked_again",
    ),
    mutant(
        "a call in flight is awaited even if its item was given up",
        Edit(FLIGHTS, "await asyncio.shield(self.landed)", "await self.landed"),
        test="providers/test_asking.py::test_an_answer_that_comes_too_late_is_kept_and_not_paid_again",
    ),
    mutant(
        "waiting for permission to call (slot, rate limit, budget) does not count against the timeout",
        Edit(FLIGHTS, "            clock.hold()\n        try:", "            pass\n        try:"),
        test=f"{LEAVE}::test_all_attempts_that_wait_for_one_answer_are_held_until_it_is_sent",
    ),
    mutant(
        "the deadline of an item that waits for permission to call is moved",
        Edit(ATTEMPTS, "        if in_time:", "        if False:"),
        test=f"{LEAVE}::test_waiting_for_leave_does_not_count_against_the_time_limit[sqlite-concurrency]",
    ),
    mutant(
        "a child tells its parent that it waits for permission to call",
        Edit(CHILDREN, "clock.hold() if said == HELD else clock.go_on()", "pass"),
        test=f"{LEAVE}::test_waiting_for_leave_does_not_count_against_the_time_limit[sqlite-shared limit in a child]",
    ),
    mutant(
        "a question that is no longer wanted is not sent",
        Edit(FLIGHTS, "                    self.landed.cancel()", "                    pass"),
        test=f"{LEAVE}::test_a_task_that_is_paused_while_it_waits_for_leave_asks_nothing[sqlite-CONCURRENCY]",
    ),
    mutant(
        "an answer is kept even if the lease is lost",
        Edit(
            ASKER,
            "                tx.answers.keep(key, for_cache(answer))",
            "                if tx.settling.holds(inquiry.asking.item, inquiry.asking.lease):\n"
            "                    tx.answers.keep(key, for_cache(answer))",
        ),
        test="providers/test_asking.py::test_an_answer_that_comes_too_late_is_kept_and_not_paid_again",
    ),
)
