"""Guards of the rate limits that all workers share, and of calls whose answers were lost."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

STATEMENTS, LEASE = "fanfold/store/rows/money/rate_limit_statements.py", "fanfold/providers/limits/lease.py"
LIMIT_ROWS, FOUND = "fanfold/store/rows/money/rate_limits.py", "providers/test_found_rate.py::"
BLOCKS, CALLS = "fanfold/providers/limits/blocks.py", "fanfold/providers/limits/calls.py"
ASKER, ASKING, SERVICES = (
    "fanfold/providers/question_asker.py",
    "fanfold/providers/asking.py",
    "fanfold/providers/services/service.py",
)
IN_ROWS, SHARED = "store/test_rate_limits.py::", "providers/test_shared_limits.py::"
SERVED, UNKNOWN = "providers/test_limited_service.py::", "providers/test_unknown_outcomes.py::"

MUTANTS = (
    mutant(
        "a bucket gives no more than it holds",
        Edit(STATEMENTS, "sa.and_(~shut, full >= _smaller(least, limits.c.burst))", "~shut"),
        test=f"{IN_ROWS}test_a_bucket_gives_what_it_holds_and_fills_with_time",
    ),
    mutant(
        "a bucket holds no more than its burst",
        Edit(STATEMENTS, "full = _smaller(grown, limits.c.burst)", "full = grown"),
        test=f"{IN_ROWS}test_a_bucket_gives_what_it_holds_and_fills_with_time",
    ),
    mutant(
        "a closed limit grants nothing to any worker",
        Edit(STATEMENTS, "sa.and_(~shut, full", "sa.and_(full"),
        test=f"{IN_ROWS}test_a_refusal_closes_the_key_for_everybody_and_a_known_rate_stays",
    ),
    mutant(
        "a clock that is set back takes nothing from a bucket",
        Edit(
            STATEMENTS,
            "passed = _larger(clock.seconds_since(limits.c.updated_at), zero)\n        grown",
            "passed = clock.seconds_since(limits.c.updated_at)\n        grown",
        ),
        test=f"{IN_ROWS}test_a_clock_that_is_set_back_takes_nothing_away",
    ),
    mutant(
        "a refusal of a call from before the closing does not lower the rate again",
        Edit(STATEMENTS, "limits.c.closed_until <= clock.before(ago)", "sa.true()"),
        test=f"{IN_ROWS}test_where_nothing_is_known_a_refusal_halves_the_rate_and_a_late_one_lowers_it_less",
    ),
    mutant(
        "a rate that is found by trying grows",
        Edit(STATEMENTS, "        ends = _sought(", "        _sought("),
        test=f"{IN_ROWS}test_a_sought_rate_grows_while_more_is_wanted_and_not_while_it_is_enough",
    ),
    mutant(
        "a rate that is enough is not tried out",
        Edit(STATEMENTS, "grows = sa.and_(is_sought, is_short)", "grows = is_sought"),
        test=f"{IN_ROWS}test_a_sought_rate_grows_while_more_is_wanted_and_not_while_it_is_enough",
    ),
    mutant(
        "a limit that the service has named is not lowered",
        Edit(
            LIMIT_ROWS,
            "if not any((row.configured or row.learned) and row.dimension",
            "if not any(False and row.dimension",
        ),
        test=f"{IN_ROWS}test_a_refusal_closes_the_key_for_everybody_and_a_known_rate_stays",
    ),
    mutant(
        "processes leave each other what they hold in flight",
        Edit(STATEMENTS, "room = cap - sa.cast(others.scalar_subquery(), sa.Integer())", "room = cap + 0"),
        test=f"{IN_ROWS}test_processes_never_hold_more_calls_in_flight_together_than_allowed",
    ),
    mutant(
        "a block is not used after its time",
        Edit(BLOCKS, "return self.amount if now <= self.until else 0.0", "return self.amount"),
        test=f"{SHARED}test_a_block_is_void_after_its_second",
    ),
    mutant(
        "processes that wait for a slow limit take turns",
        Edit(BLOCKS, "if block.was_granted and level.burst", "if False and level.burst"),
        test="providers/test_statements_per_call.py::"
        "test_processes_that_wait_for_a_slow_limit_seldom_visit_its_rows[sqlite]",
    ),
    mutant(
        "a limit that opens again lets one call go first",
        Edit(LEASE, "return int(min(most, 1 + level.opened_seconds * RAMP_PER_SECOND))", "return int(most)"),
        test=f"{SHARED}test_a_limit_that_opens_again_allows_one_call_and_then_more",
    ),
    mutant(
        "other workers learn of a refusal",
        Edit(CALLS, "self.limit.refused(closed_seconds, ago)", "pass"),
        test=f"{FOUND}test_a_refusal_closes_the_model_for_all_workers_which_come_back_a_few_at_a_time",
    ),
    mutant(
        "a used-up daily quota goes to the next model",
        Edit(
            ASKING,
            "used_up = trouble.kind is TroubleKind.QUOTA and is_last",
            "used_up = trouble.kind is TroubleKind.QUOTA",
        ),
        test=f"{SERVED}test_a_used_up_day_goes_to_the_next_model",
    ),
    mutant(
        "a repeated call has the key of the lost one",
        Edit(
            ASKER,
            "{inquiry.provider.idempotency_header: key}",
            "{inquiry.provider.idempotency_header: uuid.uuid4().hex}",
        ),
        test=f"{UNKNOWN}test_with_an_idempotency_key_a_lost_answer_is_asked_for_again_and_paid_once",
    ),
    mutant(
        "a time-out before anything was sent costs nothing",
        Edit(SERVICES, "if type(error.__cause__).__name__ in NOT_SENT:", "if False:"),
        test=f"{UNKNOWN}test_a_time_out_before_anything_was_sent_is_safe",
    ),
)
