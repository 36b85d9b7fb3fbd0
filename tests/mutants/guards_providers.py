"""Guards between a handler and the services it asks: waits, refusals, bad answers, the answer cache, the ledger."""

from __future__ import annotations

from tests.mutants.mutant import Edit, Mutant, mutant

SETTLE_BATCH = "fanfold/engine/worker/attempt/settle_batch.py"
ASKER, RATE_LIMIT, SERVICES = (
    "fanfold/providers/question_asker.py",
    "fanfold/providers/rate_limit.py",
    "fanfold/providers/services/service.py",
)
ASKING, VERDICTS, PRICES = (
    "fanfold/providers/asking.py",
    "fanfold/providers/answer_checks.py",
    "fanfold/providers/costs/prices.py",
)
QUESTION, LEDGER = "fanfold/model/money/questions.py", "fanfold/store/rows/money/answers.py"
WAITS = "mutants/test_guards_providers.py::test_a_service_that_asks_to_wait_is_left_alone_for_that_long_by_everybody"
ASKED, BAD = "providers/test_asking.py::", "providers/test_bad_answers.py::"
PARTS = {
    "address": '            "address": address,\n',
    "model": '            "model": model,\n',
    "system": '            "system": self.system,\n',
    "prompt": '            "prompt": self.prompt,\n',
    "images": '            "images": [hashlib.sha256(image).hexdigest() for image in self.images],\n',
    "parameters": '            "parameters": self.parameters | (changes or {}),\n',
    "salt": '            "salt": self.salt,\n',
}
"""What an answer is kept under, and its line in the fingerprint."""


def without_part(part: str, line: str) -> Mutant:
    """Answers to different questions are kept under one key."""
    test = f"mutants/test_guards_providers.py::test_another_question_has_another_key[{part}]"
    return mutant(f"the key of a kept answer has the {part}", Edit(QUESTION, line, ""), test=test)


LANE_MUTANTS = (
    mutant(
        "Retry-After is read",
        Edit(SERVICES, "return max(0.0, seconds) if math.isfinite(seconds) else None", "return None"),
        test="providers/test_services.py::test_the_wait_that_is_asked_for_is_heard",
    ),
    mutant(
        "the rate limit stays closed for as long as Retry-After says",
        Edit(ASKER, "rate_limit.limited(trouble.after, begun_at)", "rate_limit.limited(None, begun_at)"),
        test=WAITS,
    ),
    mutant(
        "a refusal for too many requests closes the rate limit for everybody",
        Edit(RATE_LIMIT, "        self._open_at = max(self._open_at, now + pause)\n", ""),
        test=WAITS,
    ),
    mutant(
        "at most `concurrency` calls at a time",
        Edit(RATE_LIMIT, "asyncio.Semaphore(provider.concurrency)", "asyncio.Semaphore(1_000)"),
        test="providers/test_limited_service.py::test_the_models_of_a_provider_share_its_places",
    ),
    mutant(
        "too many requests use up no retry",
        Edit(ASKING, "code=trouble.kind, counts=False, by=name)", "code=trouble.kind, by=name)"),
        test=f"{ASKED}test_a_long_wait_gives_the_place_to_others_and_is_not_counted",
    ),
    mutant(
        "a service that asks for a wait of hours pauses the task",
        Edit(
            ASKING,
            "if trouble.kind is TroubleKind.LIMITED and (trouble.after or 0) > LONGEST_WAIT and not trouble.is_own:",
            "if False:",
        ),
        test=f"{ASKED}test_a_service_that_wants_to_be_left_alone_for_hours_pauses_the_task",
    ),
    mutant(
        "refusals in a row pause the task",
        Edit(ASKING, "if rate_limit.is_refused(asking.task_id, inquiry.model):", "if False:"),
        test=f"{ASKED}test_three_refusals_in_a_row_pause_the_task_and_say_why",
    ),
    *(
        mutant(
            f"the {name} library repeats no call by itself: it may have been paid for",
            Edit(f"fanfold/providers/services/{name}.py", "max_retries=0", "max_retries=2"),
            test=f"mutants/test_guards_providers.py::test_a_call_goes_out_once_whatever_becomes_of_it[{name}]",
        )
        for name in ("openai", "anthropic")
    ),
    mutant(
        "a key that the service repeats is not written down",
        Edit(
            SERVICES,
            "blanked(text, [key])",
            "text",
        ),
        test=f"{ASKED}test_trouble_does_not_have_the_key_that_the_service_repeats",
    ),
    mutant(
        "a long part of a key is not written down either",
        Edit("fanfold/model/values/secrets.py", "if len(secret) >= LONG:", "if False:"),
        test="engine/test_blanking.py::test_a_long_part_of_a_key_is_blanked_too",
    ),
    mutant(
        "an error inside a 200 means what its status would",
        Edit(SERVICES, "kind_of_status(status or 500, next(", "kind_of_status(500, next("),
        test="providers/test_services.py::test_an_error_inside_an_answer_is_said_and_means_what_its_status_would",
    ),
)
ANSWER_MUTANTS = (
    mutant(
        "an answer that was cut off is not accepted",
        Edit(VERDICTS, "if reply.finish is Finish.CUT_OFF:\n        raise", "if False:\n        raise"),
        test="providers/test_verdicts.py::test_what_cannot_be_taken_is_not_taken",
    ),
    mutant(
        "an answer that a filter held back is not accepted",
        Edit(VERDICTS, "if reply.finish is Finish.FILTERED:", "if False:"),
        test="providers/test_verdicts.py::test_what_cannot_be_taken_is_not_taken",
    ),
    mutant(
        "an empty answer is not accepted",
        Edit(VERDICTS, "    if not text:\n", "    if False:\n"),
        test="providers/test_verdicts.py::test_what_cannot_be_taken_is_not_taken",
    ),
    mutant(
        "an answer that repeats itself is not accepted",
        Edit(
            VERDICTS,
            "if repeats(text, REPEATED_LENGTH if reply.finish is Finish.CUT_OFF else REPEATED_LONG):",
            "if False:",
        ),
        test="providers/test_verdicts.py::test_what_cannot_be_taken_is_not_taken",
    ),
    mutant(
        "a model that refuses gives no answer",
        Edit(VERDICTS, "if len(text) < SHORT and REFUSALS.match(text):", "if False:"),
        test="providers/test_verdicts.py::test_what_cannot_be_taken_is_not_taken",
    ),
    mutant(
        "the check of the pipeline decides as well",
        Edit(VERDICTS, "return check(text) if check is not None else text", "return text"),
        test=f"{ASKED}test_a_check_of_the_pipeline_decides_as_well",
    ),
    mutant(
        "a bad answer is not cached",
        Edit(
            ASKER,
            "        except BadAnswer as bad:\n"
            "            outcome = BAD_ANSWER if bad.code in OUTCOMES else bad.code\n"
            "            row = _row(inquiry, key, outcome, reply.usage, seconds, reply.text)\n"
            "            await self._persistently(self._settle, begun, row)\n"
            "            await self._persistently(self._reconcile, begun, inquiry, key)\n"
            "            raise\n",
            "        except BadAnswer:\n            text = reply.text\n",
        ),
        test=f"{ASKED}test_a_bad_answer_is_asked_for_again_with_changed_parameters",
    ),
    mutant(
        "a cached answer is checked by the attempt that uses it",
        Edit(ASKER, "        if inquiry.question.check is not None:\n", "        if False:\n"),
        test=f"{ASKED}test_a_kept_answer_that_a_new_check_refuses_is_asked_for_again",
    ),
    mutant(
        "a bad answer is in the ledger under its question",
        Edit(ASKER, "_row(inquiry, key, outcome, reply.usage", "_row(inquiry, None, outcome, reply.usage"),
        test=f"{BAD}test_a_bad_answer_before_a_wait_is_not_paid_for_again",
    ),
    mutant(
        "a bad answer is not paid for again for the same item",
        Edit(LEDGER, 'calls.c.item == sa.bindparam("of"),', "sa.false(),"),
        test=f"{BAD}test_a_bad_answer_before_a_wait_is_not_paid_for_again",
    ),
    mutant(
        "a bad answer is held against the model for one item only",
        Edit(LEDGER, 'calls.c.item == sa.bindparam("of"),', ""),
        test=f"{BAD}test_another_task_with_the_same_question_asks_for_itself_after_bad_answers",
    ),
    mutant(
        "a retry by a person asks again after bad answers",
        Edit(LEDGER, 'calls.c.lease >= sa.bindparam("first_lease"),', ""),
        test=f"{BAD}test_a_retry_by_a_person_asks_anew_after_bad_answers",
    ),
    mutant(
        "an attempt that waited for another worker's call does not repeat it if the answer was bad",
        Edit(ASKER, "inquiry.asking.first_lease, key) is None:", "inquiry.asking.first_lease, key) is None or True:"),
        test=f"{BAD}test_two_workers_with_one_item_pay_for_its_bad_answer_once",
    ),
    mutant(
        "a check's code for a bad answer is not a word of the ledger",
        Edit(ASKER, "outcome = BAD_ANSWER if bad.code in OUTCOMES else bad.code", "outcome = bad.code"),
        test=f"{BAD}test_a_check_can_call_what_is_bad_as_it_likes",
    ),
    mutant(
        "a bad answer of another task keeps no answer",
        Edit(LEDGER, "calls.c.answer == answers.c.key, calls.c.outcome.in_(USED)", "calls.c.answer == answers.c.key"),
        test=f"{BAD}test_an_answer_goes_with_the_last_task_that_took_it_not_with_one_that_got_a_bad_one",
    ),
    mutant(
        "a deleted task leaves no answers behind",
        Edit(
            LEDGER,
            "delete(answers).where(answers.c.key.in_(keys), ~others.exists())",
            "delete(answers).where(sa.false())",
        ),
        test=f"{ASKED}test_a_deleted_task_takes_the_answers_along_that_only_it_has_used",
    ),
    mutant(
        "an answer that another task has used stays",
        Edit(LEDGER, "answers.c.key.in_(keys), ~others.exists())", "answers.c.key.in_(keys))"),
        test=f"{ASKED}test_a_deleted_task_takes_the_answers_along_that_only_it_has_used",
    ),
    *(without_part(part, line) for part, line in PARTS.items()),
)
LEDGER_MUTANTS = (
    mutant(
        "a bad answer is accounted for",
        Edit(
            ASKER,
            "            await self._persistently(self._settle, begun, row)\n",
            "",
        ),
        test=f"{ASKED}test_a_bad_answer_is_asked_for_again_with_changed_parameters",
    ),
    mutant(
        "what a failed attempt used is accounted for",
        Edit(
            SETTLE_BATCH,
            "    tx.calls.add([call for one in spent if (",
            '    tx.calls.add([call for one in spent if ending == "finish" and (',
        ),
        test="store/test_answers.py::test_what_a_handler_used_by_itself_counts_as_well",
    ),
    mutant(
        "a call is one row of the ledger",
        Edit(
            ASKER,
            "tx.calls.settle(begun.call, row):\n                tx.answers.keep",
            "tx.calls.settle(begun.call, row) and tx.calls.add([row]):\n                tx.answers.keep",
        ),
        test=f"{ASKED}test_an_answer_and_its_cost_are_kept",
    ),
    mutant(
        "a kept answer costs nothing",
        Edit(LEDGER, "paid = _is_none_of(CACHED, ASKED, NO_ANSWER)", "paid = sa.true()"),
        test=f"{ASKED}test_the_same_question_is_not_paid_twice",
    ),
    mutant(
        "an unknown price stays unknown",
        Edit(
            PRICES,
            "    except (LookupError, ValueError):\n        return None",
            "    except (LookupError, ValueError):\n        return 0.0",
        ),
        test="providers/test_prices.py::test_unknown_stays_unknown_and_is_not_nothing",
    ),
    mutant(
        "calls without a price are counted",
        Edit(LEDGER, "_count(sa.and_(paid, calls.c.cost.is_(None)))", "sa.literal(0)"),
        test="store/test_answers.py::test_the_ledger_adds_up_per_item_and_task",
    ),
)
MUTANTS = (*LANE_MUTANTS, *ANSWER_MUTANTS, *LEDGER_MUTANTS)
