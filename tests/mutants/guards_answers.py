"""Guards of paid answers: each question is asked once."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ANSWERS = "fanfold/store/rows/answers.py"
DESK = "fanfold/providers/desk.py"
MUTANTS = (
    mutant(
        "one asks the same question at a time, among all workers",
        Edit(ANSWERS, "where=sa.and_(answers.c.body.is_(None), abandoned)", "where=answers.c.body.is_(None)"),
        test="store/test_answers.py::test_a_question_is_asked_by_one_at_a_time",
    ),
    mutant(
        "what is answered is not asked again",
        Edit(ANSWERS, "where=sa.and_(answers.c.body.is_(None), abandoned)", "where=abandoned"),
        test="mutants/test_guards.py::test_what_is_answered_is_not_asked_again_however_long_ago_it_was_asked",
    ),
    mutant(
        "what a dead worker began to ask may be asked at once",
        Edit(ANSWERS, "sa.and_(answers.c.worker.is_not(None), answers.c.worker.not_in(alive))", "sa.false()"),
        test="store/test_answers.py::test_what_a_dead_worker_began_to_ask_is_asked_at_once",
    ),
    mutant(
        "only who asks may give up",
        Edit(ANSWERS, "answers.c.key == key, answers.c.asked_by == asker, answers", "answers.c.key == key, answers"),
        test="store/test_answers.py::test_a_question_is_asked_by_one_at_a_time",
    ),
    mutant(
        "one asks the same question at a time, in one worker",
        Edit(DESK, "mine = key not in self._under_way", "mine = True"),
        test="providers/test_asking.py::test_a_question_that_is_under_way_is_not_asked_again",
    ),
    mutant(
        "an answer that is under way is waited for, also when its item was given up",
        Edit(DESK, "await asyncio.shield(self._under_way[key])", "await self._under_way[key]"),
        test="providers/test_asking.py::test_an_answer_that_comes_too_late_is_kept_and_not_paid_again",
    ),
    mutant(
        "an answer is kept, whatever became of the lease",
        Edit(
            DESK,
            "                tx.answers.keep(key, packed(answer))",
            "                if tx.settling.holds(inquiry.asking.item, inquiry.asking.lease):\n"
            "                    tx.answers.keep(key, packed(answer))",
        ),
        test="providers/test_asking.py::test_an_answer_that_comes_too_late_is_kept_and_not_paid_again",
    ),
)
