"""Estimates what a task will cost, from the questions that its pipeline declares, from earlier items, or from a sample.

Tokens are guessed without a tokenizer, and corrected by what the model counted in earlier calls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fanfold.errors import BadInput
from fanfold.model.money.amounts import dollars
from fanfold.model.money.estimates import BATCH, LIVE, Estimate, EstimateWork, ExpectedCall, LaneEstimate, Sample
from fanfold.model.money.questions import Usage, chain_of
from fanfold.model.pipelines.options import LOCAL
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.text.sentences import say
from fanfold.model.values.token_estimate import TOKENS_PER_IMAGE, guessed_tokens
from fanfold.providers.configuration import Provider, choose, load
from fanfold.providers.costs.measured_costs import quantile
from fanfold.providers.costs.prices import cost_of, lane_share
from fanfold.store.rows.money.costs import ItemCost
from fanfold.store.rows.money.usage_history import UsageBucket
from fanfold.store.store import Store

LOW, HIGH = 0.1, 0.9
"""Quantiles of earlier costs that are shown as the low and the high estimate."""
UNMEASURED = (0.5, 2.0)
"""Low and high, as factors of the expected cost, if nothing was measured."""
OUTPUT_PER_INPUT = 1.05
OUTPUT_PER_IMAGE = 700
FEWEST_SPREAD = 0.15
"""Low and high differ from the expected cost by at least this share: no sample is more exact."""
NORMAL_90 = 1.64


UNKNOWN = Estimate((LaneEstimate(LIVE), LaneEstimate(BATCH)), "")


@dataclass(frozen=True)
class Spread:
    """Low and high, as factors of the expected cost."""

    low: float
    high: float


def estimate(store: Store, pipeline: Pipeline, work: EstimateWork) -> Estimate:
    """Estimate the cost of a task without any call."""
    expected = None if pipeline.estimator is None else list(pipeline.estimator(work))
    if expected is not None and not sum(call.count for call in expected):
        return Estimate(_lanes(None, 0.0, Spread(1, 1)), say("estimate_no_calls"), items=_count(work), calls=0)
    provider, model = _asked(work)
    if expected is not None:
        return _from_questions(store, pipeline, work, expected, provider, model)
    return _from_items(store, pipeline, work, provider, model)


def extrapolated(rows: Sequence[ItemCost], sample: Sample) -> Estimate:
    """What a task will cost, from what it has cost so far: the items of the stage that was sampled stand for all of them.

    What failed items and failed attempts have cost counts, since as many of the others are expected to fail. Items that asked
    no model cost nothing. Nothing is known of the stages after it, so these are named as not included.
    """
    provider = load().get(sample.model.partition(":")[0])
    priced = [row for row in rows if row.calls and row.cost is not None]
    paid = [row for row in priced if row.stage == sample.stage]
    if not paid:
        why = say("estimate_sample_unknown", count=sample.over)
        return replace(UNKNOWN, why=why, model=sample.model, items=sample.total, sampled=sample.over)
    costs = [_live_cost(provider, row) for row in paid] + [0.0] * sample.free
    mean = sum(costs) / len(costs)
    before = [row for row in priced if row.stage != sample.stage]
    left = max(sample.begun, mean * max(0, sample.total - sample.over))
    expected = sum(_live_cost(provider, row) for row in before) + sum(costs) + left
    calls, asked, answered = (
        round(sum(values) / len(costs) * sample.total)
        for values in zip(*((row.calls, row.input_tokens, row.output_tokens) for row in paid), strict=True)
    )
    calls += sum(row.calls for row in before)
    lanes = _lanes(provider, expected, _spread_of(costs, mean))
    spent = sum(row.cost or 0.0 for row in priced) + sample.begun
    why = say("estimate_sample", count=sample.over, total=sample.total)
    if sample.failed:
        why = say("estimate_sample_failed", count=sample.over, total=sample.total, failed=sample.failed)
    if sample.later:
        why = say("estimate_sample_later", why=why, stages=list(sample.later))
    return Estimate(lanes, why, sample.model, sample.total, calls, asked, answered, sampled=sample.over, spent=spent)


def _spread_of(costs: Sequence[float], mean: float) -> Spread:
    """The range that holds the mean of all items in nine of ten cases, from the mean of a sample."""
    if len(costs) < 2 or not mean:
        return Spread(*UNMEASURED)
    deviation = math.sqrt(sum((cost - mean) ** 2 for cost in costs) / (len(costs) - 1))
    part = max(FEWEST_SPREAD, NORMAL_90 * deviation / mean / math.sqrt(len(costs)))
    return Spread(max(0.0, 1 - part), 1 + part)


def _from_questions(
    store: Store, pipeline: Pipeline, work: EstimateWork, expected: list[ExpectedCall], provider: Provider, model: str
) -> Estimate:
    """Estimate from the questions that a pipeline declares, corrected by earlier calls of the pipeline, else of the model."""
    with store.read() as tx:
        history = tx.usage_history.of(pipeline.name, provider.name, model)
        known = history or tx.usage_history.of_model(provider.name, model)
    factor = _factor(known)
    calls = sum(call.count for call in expected)
    asked = [round(_input_of(call) * (1 if call.input_tokens is not None else factor)) for call in expected]
    answered = [_output_of(call, history) for call in expected]
    costs = [cost_of(provider, model, Usage(one, other)).cost for one, other in zip(asked, answered, strict=True)]
    name = f"{provider.name}:{model}"
    if any(cost is None for cost in costs):
        total, why = None, say("estimate_price_unknown", model=name)
    else:
        total = sum((cost or 0.0) * call.count for cost, call in zip(costs, expected, strict=True))
        before = sum(bucket.calls for bucket in history)
        why = (
            say("estimate_declared_measured", calls=calls, before=before)
            if before
            else say("estimate_declared", calls=calls)
        )
    tokens_in, tokens_out = (
        sum(one * call.count for one, call in zip(each, expected, strict=True)) for each in (asked, answered)
    )
    return Estimate(
        _lanes(provider, total, _history_spread(history)), why, name, _count(work), calls, tokens_in, tokens_out
    )


def _from_items(store: Store, pipeline: Pipeline, work: EstimateWork, provider: Provider, model: str) -> Estimate:
    """Estimate from what earlier items of the pipeline cost with this model."""
    name, count = f"{provider.name}:{model}", _count(work)
    with store.read() as tx:
        rows = [row for row in tx.costs.of_items(pipeline.name, provider.name, model) if row.cost is not None]
    if not rows or count is None:
        why = say("estimate_unknown", pipeline=pipeline.name, model=name)
        return replace(UNKNOWN, why=why, model=name, items=count)
    costs = sorted(_live_cost(provider, row) for row in rows)
    mean = sum(costs) / len(costs)
    low, high = (costs[min(len(costs) - 1, int(share * len(costs)))] for share in (LOW, HIGH))
    spread = Spread(min(1.0, low / mean), max(1.0, high / mean)) if mean else Spread(*UNMEASURED)
    calls, asked, answered = (
        round(sum(values) / len(rows) * count)
        for values in zip(*((row.calls, row.input_tokens, row.output_tokens) for row in rows), strict=True)
    )
    why = say("estimate_history", count=len(rows))
    return Estimate(_lanes(provider, mean * count, spread), why, name, count, calls, asked, answered)


def _live_cost(provider: Provider | None, row: ItemCost) -> float:
    """What an item would have cost if all its questions had been asked live: those in batches were cheaper."""
    share = 1.0 if provider is None else lane_share(provider, BATCH)
    return (row.cost or 0.0) - row.batched + row.batched / (share or 1.0)


def _asked(work: EstimateWork) -> tuple[Provider, str]:
    """The provider and model that the task would ask first."""
    entry = chain_of(work.options, None, ())[0]
    if entry.partition(":")[0] == LOCAL:
        raise BadInput(say("estimate_no_model"))
    return choose(entry, load())


def _count(work: EstimateWork) -> int | None:
    return None if work.items is None else len(work.items)


def _factor(buckets: Sequence[UsageBucket]) -> float:
    """How many tokens the model counts per guessed token."""
    guessed = sum(bucket.guessed_tokens for bucket in buckets)
    counted = sum(bucket.input_tokens for bucket in buckets)
    return min(10.0, max(0.1, counted / guessed)) if guessed and counted else 1.0


def _input_of(call: ExpectedCall) -> int:
    if call.input_tokens is not None:
        return call.input_tokens
    return guessed_tokens(call.text) + TOKENS_PER_IMAGE * call.images


def _output_of(call: ExpectedCall, history: Sequence[UsageBucket]) -> int:
    """The tokens of an answer: as declared, else the mean of the pipeline's answers, else by the size of the question."""
    if call.output_tokens is not None:
        return call.output_tokens
    calls = sum(bucket.calls for bucket in history)
    if calls:
        return round(sum(bucket.output_tokens for bucket in history) / calls)
    if call.images:
        return OUTPUT_PER_IMAGE * call.images
    return round(_input_of(call) * OUTPUT_PER_INPUT)


def _history_spread(history: Sequence[UsageBucket]) -> Spread:
    calls, cost = sum(bucket.calls for bucket in history), sum(bucket.cost for bucket in history)
    if not calls or not cost:
        return Spread(*UNMEASURED)
    pairs = [(bucket.bucket, bucket.calls) for bucket in history]
    low, high = (dollars(quantile(pairs, share) or 0) / dollars(cost) * calls for share in (LOW, HIGH))
    return Spread(min(1 - FEWEST_SPREAD, low), max(1 + FEWEST_SPREAD, high))


def _lanes(provider: Provider | None, expected: float | None, spread: Spread) -> tuple[LaneEstimate, ...]:
    """The estimate for each lane; batches cost less, if the service has them."""
    if expected is None:
        return UNKNOWN.lanes
    live = LaneEstimate(LIVE, expected * spread.low, expected, expected * spread.high)
    if provider is None or not provider.has_batches:
        return (live, LaneEstimate(BATCH))
    less = expected * lane_share(provider, BATCH)
    return (live, LaneEstimate(BATCH, less * spread.low, less, less * spread.high))
