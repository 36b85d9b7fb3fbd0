"""Batches of the largest size that a service takes fit into the statements of both databases."""

from datetime import timedelta

import sqlalchemy as sa

from fanfold.model.money.batch import MemberState
from fanfold.providers.batches.anthropic_batches import AnthropicBatches
from fanfold.store.schema.money.batch_tables import batch_members
from tests.installation import HandClock, Installation

MANY = AnthropicBatches.limits.questions


def test_the_largest_batch_can_be_begun(installation: Installation, clock: HandClock) -> None:
    one = {"task": 1, "lease": 1, "provider": "p", "model": "m", "state": "collected", "bytes": 9, "tokens": 2}
    rows = [{**one, "item": number, "key": f"k{number}", "at": clock.now} for number in range(MANY)]
    with installation.store.write() as tx:
        for start in range(0, MANY, 1_000):
            tx.connection.execute(sa.insert(batch_members), rows[start : start + 1_000])
    clock.now += timedelta(seconds=60)
    with installation.store.write() as tx:
        [group] = tx.batched.groups()
        waiting = tx.batched.waiting(group, MANY)
        batch = tx.batches.begin("b-1", group, waiting, "w", 60.0)
    assert (group.questions, len(waiting), batch is not None) == (MANY, MANY, True)
    with installation.store.write() as tx:
        assert tx.batches.begin("b-2", group, waiting[:1], "w", 60.0) is None, "each question is taken once"
        tx.connection.rollback()
    with installation.store.read() as tx:
        counted = sa.select(sa.func.count()).where(batch_members.c.state == MemberState.SENT.value)
        assert tx.connection.execute(counted).scalar_one() == MANY
