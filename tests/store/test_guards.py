"""The database itself refuses moves that the table of moves does not have."""

from typing import Any

import pytest
import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.model.lifecycle import FINISHED_TASKS, ITEM_MOVES, SETTLED_ITEMS, TASK_MOVES, TIMED_ITEMS, Move, pairs
from fanfold.model.lifecycle import ItemState as Item
from fanfold.model.lifecycle import TaskState as TaskIn
from fanfold.model.money.batch import BATCH_MOVES, MEMBER_MOVES, BatchState, MemberState
from fanfold.store.schema.money.batch_tables import batch_members, batches
from fanfold.store.schema.tables import items, tasks
from tests.installation import HandClock, Installation


def item_values(state: str, clock: HandClock) -> dict[str, Any]:
    """What a row of an item in this state must have."""
    return {
        "state": state,
        "worker": "w" if state == Item.RUNNING else None,
        "available_at": clock.now if state in TIMED_ITEMS else None,
        "finished_at": clock.now if state in SETTLED_ITEMS else None,
        "lease": 1,
    }


def task_values(state: str, clock: HandClock) -> dict[str, Any]:
    """What a row of a task in this state must have."""
    return {"state": state, "finished_at": clock.now if state in FINISHED_TASKS else None}


def add_item(connection: sa.Connection, seq: int, values: dict[str, Any]) -> int:
    whole = {"task": 1, "stage": "s", "seq": seq, "attempts": 0, "failures": 0, "crashes": 0, **values}
    return int(connection.execute(sa.insert(items).values(whole).returning(items.c.id)).scalar_one())


def add_task(connection: sa.Connection, name: str, clock: HandClock, values: dict[str, Any]) -> int:
    whole = {
        "id": name, "pipeline": "p", "title": "t", "stage": "s", "plan": "{}", "owner": "", "priority": 0,
        "created_at": clock.now, "updated_at": clock.now, **values,
    }  # fmt: skip
    return int(connection.execute(sa.insert(tasks).values(whole).returning(tasks.c.number)).scalar_one())


@pytest.mark.parametrize("source", list(Item))
def test_an_item_changes_its_state_only_along_the_table(
    installation: Installation, clock: HandClock, source: str
) -> None:
    for seq, target in enumerate(Item):
        with installation.store.write() as tx:
            item = add_item(tx.connection, seq, item_values(source, clock))
        move = sa.update(items).where(items.c.id == item).values(item_values(target, clock))
        if source == target or (source, target) in pairs(ITEM_MOVES):
            with installation.store.write() as tx:
                assert tx.connection.execute(move).rowcount == 1
        else:
            with pytest.raises(DatabaseProblem, match="illegal move in items"), installation.store.write() as tx:
                tx.connection.execute(move)


@pytest.mark.parametrize("source", list(TaskIn))
def test_a_task_changes_its_state_only_along_the_table(
    installation: Installation, clock: HandClock, source: str
) -> None:
    for target in TaskIn:
        with installation.store.write() as tx:
            number = add_task(tx.connection, f"to-{target}", clock, task_values(source, clock))
        move = sa.update(tasks).where(tasks.c.number == number).values(task_values(target, clock))
        if source == target or (source, target) in pairs(TASK_MOVES):
            with installation.store.write() as tx:
                assert tx.connection.execute(move).rowcount == 1
        else:
            with pytest.raises(DatabaseProblem, match="illegal move in tasks"), installation.store.write() as tx:
                tx.connection.execute(move)


@pytest.mark.parametrize("source", list(BatchState))
def test_a_batch_changes_its_state_only_along_the_table(
    installation: Installation, clock: HandClock, source: str
) -> None:
    for target in BatchState:
        values = {
            "provider": "p",
            "model": "m",
            "questions": 1,
            "tokens": 1,
            "created_at": clock.now,
            "look_at": clock.now,
        }
        new = sa.insert(batches).values(name=f"to-{target}", state=source, **values).returning(batches.c.id)
        refused_or_done(installation, batches, new, BATCH_MOVES, source, target)


@pytest.mark.parametrize("source", list(MemberState))
def test_a_question_in_the_batch_lane_changes_its_state_only_along_the_table(
    installation: Installation, clock: HandClock, source: str
) -> None:
    for target in MemberState:
        values = {"item": 1, "lease": 1, "provider": "p", "model": "m", "bytes": 1, "tokens": 1, "at": clock.now}
        made = sa.insert(batch_members).values(task=1, key=f"to-{target}", state=source, **values)
        refused_or_done(installation, batch_members, made.returning(batch_members.c.id), MEMBER_MOVES, source, target)


def refused_or_done(
    installation: Installation, table: sa.Table, new: Any, moves: tuple[Move, ...], source: str, target: str
) -> None:
    """Make a row and change its state, which is done or refused as the table of moves says."""
    with installation.store.write() as tx:
        row = tx.connection.execute(new).scalar_one()
    move = sa.update(table).where(table.c.id == row).values(state=target)
    if source == target or (source, target) in pairs(moves):
        with installation.store.write() as tx:
            assert tx.connection.execute(move).rowcount == 1
    else:
        with pytest.raises(DatabaseProblem, match=f"illegal move in {table.name}"), installation.store.write() as tx:
            tx.connection.execute(move)


@pytest.mark.parametrize(
    ("state", "wrong"),
    [
        ("pending", {"worker": "w"}),
        ("running", {"worker": None}),
        ("running", {"lease": 0}),
        ("done", {"lease": 0}),
        ("done", {"finished_at": None}),
        ("failed", {"finished_at": None}),
        ("retrying", {"available_at": None}),
        ("waiting", {"available_at": None}),
        ("lost", {}),
    ],
)
def test_an_item_that_contradicts_itself_cannot_be_kept(
    installation: Installation, clock: HandClock, state: str, wrong: dict[str, Any]
) -> None:
    refused = pytest.raises(DatabaseProblem, match=r"refused.*(ck_items|CHECK)")
    with refused as caught, installation.store.write() as tx:
        add_item(tx.connection, 1, item_values(state, clock) | wrong)
    assert caught.value.code == "refused"


@pytest.mark.parametrize(
    ("state", "column"),
    [
        ("pending", "finished_at"),
        ("pending", "available_at"),
        ("running", "finished_at"),
        ("running", "available_at"),
        ("retrying", "finished_at"),
        ("waiting", "finished_at"),
        ("done", "available_at"),
        ("failed", "available_at"),
    ],
)
def test_a_time_belongs_to_the_states_that_have_one(
    installation: Installation, clock: HandClock, state: str, column: str
) -> None:
    with pytest.raises(DatabaseProblem), installation.store.write() as tx:
        add_item(tx.connection, 1, item_values(state, clock) | {column: clock.now})


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "active", "finished": True},
        {"state": "completed", "finished": False},
        {"state": "lost", "finished": False},
        {"state": "active", "finished": False, "ending": "completed"},
    ],
)
def test_a_task_that_contradicts_itself_cannot_be_kept(
    installation: Installation, clock: HandClock, wrong: dict[str, Any]
) -> None:
    values = {name: value for name, value in wrong.items() if name != "finished"}
    with pytest.raises(DatabaseProblem), installation.store.write() as tx:
        add_task(tx.connection, "t", clock, values | {"finished_at": clock.now if wrong["finished"] else None})


def test_a_position_and_a_key_are_unique_within_a_stage(installation: Installation, clock: HandClock) -> None:
    pending = item_values("pending", clock)
    with installation.store.write() as tx:
        add_item(tx.connection, 1, pending | {"key": "a"})
        add_item(tx.connection, 2, pending)
        add_item(tx.connection, 3, pending)
    for same in ({"seq": 1, "key": "b"}, {"seq": 4, "key": "a"}):
        with pytest.raises(DatabaseProblem), installation.store.write() as tx:
            add_item(tx.connection, int(str(same.pop("seq"))), pending | same)
