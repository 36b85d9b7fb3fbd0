"""Guards of the engine for tests: what passes there passes in production, and tests do not affect each other."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

MEMORY = "fanfold/store/dialects/sqlite_parts/sqlite_memory.py"
STEPS, WORKER, CLOCK = "fanfold/testing/steps.py", "fanfold/testing/worker.py", "fanfold/testing/clock.py"
MOMENTS = "fanfold/testing/due_moments.py"
MUTANTS = (
    mutant(
        "threads take turns on the one connection of a database in memory",
        Edit(MEMORY, "        return self._turn\n", "        return threading.RLock()\n"),
        test="store/test_memory.py::test_threads_wait_for_each_others_transactions",
    ),
    mutant(
        "the database of a test is empty for the next one",
        Edit("fanfold/testing/memory.py", "    one.database.clear()\n", ""),
        test="testing/test_engine.py::test_the_next_test_begins_with_nothing",
    ),
    mutant(
        "the ledger of a test is empty for the next one",
        Edit(MEMORY, " and not self._has_added_for_good():", ":"),
        test="testing/test_engine.py::test_a_pipeline_with_a_price_is_tested_as_often_as_one_likes",
    ),
    mutant(
        "a crashed worker of a test writes nothing more",
        Edit(WORKER, "        if self.crashed:\n            raise WorkerCrashed\n", "        return\n"),
        test="testing/test_answers.py::test_a_worker_that_dies_while_it_asks_does_not_give_its_question_up",
    ),
    mutant(
        "the time limit of a stage holds in a test",
        Edit(WORKER, "asyncio.timeout(call.stage.timeout)", "asyncio.timeout(None)"),
        test="testing/test_engine.py::test_the_time_limit_of_a_stage_holds_on_the_clock_of_the_test",
    ),
    mutant(
        "the lease of a crashed worker ends on the clock of a test",
        Edit(
            STEPS, "        for dead in self._crashed:\n            yield", "        for dead in ():\n            yield"
        ),
        test="testing/test_points.py::test_a_worker_that_dies_before_it_settles_leaves_an_item_that_runs_again",
    ),
    mutant(
        "a worker of a test rests only after it has polled",
        Edit(WORKER, "if self.claimer.has_looked and not turn.again", "if not turn.again"),
        test="testing/test_time.py::test_a_point_that_is_not_reached_does_not_end_the_run",
    ),
    mutant(
        "an item of a test that waits for a held subtask does not keep the run going",
        Edit(MOMENTS, "(self._awaiting.add if one.awaits else", "(self._awaiting.discard if one.awaits else"),
        test="testing/test_time.py::test_a_run_ends_when_a_subtask_waits_for_a_person",
    ),
    mutant(
        "a run of a test does not go beyond its seconds",
        Edit(STEPS, "min(seconds, self._ends_at - self._clock.seconds)", "seconds"),
        test="testing/test_time.py::test_a_run_of_some_seconds_ends_with_them",
    ),
    mutant(
        "the clock of a test stops at the due times of schedules",
        Edit(STEPS, "math.inf if schedule is None else schedule", "math.inf"),
        test="testing/test_time.py::test_the_clock_stops_at_each_due_time_on_its_way",
    ),
    mutant(
        "a question without a scripted answer ends the run",
        Edit(STEPS, "                    raise problem\n", "                    continue\n"),
        test="testing/test_answers.py::test_a_question_without_an_answer_ends_the_run",
    ),
    mutant(
        "a plain handler of a test asks only the script",
        Edit("fanfold/providers/question_asker.py", "_makers.get(store, QuestionAsker)(store)", "QuestionAsker(store)"),
        test="testing/test_answers.py::test_a_plain_handler_that_asks_in_a_loop_of_its_own_gets_scripted_answers",
    ),
    mutant(
        "every run of a test is the same",
        Edit(STEPS, "        random.setstate(self._chance)\n", ""),
        test="testing/test_engine.py::test_every_run_of_a_test_is_the_same",
    ),
    mutant(
        "the clock of a test does not advance while a thread is awaited",
        Edit(CLOCK, "if timeout is not None and not self._is_outside_awaited():", "if timeout is not None:"),
        test="testing/test_engine.py::test_the_clock_stands_still_while_a_thread_works",
    ),
)
