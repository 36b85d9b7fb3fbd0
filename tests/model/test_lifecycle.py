"""The table of moves is the source of everything else about moves."""

import pickle

import pytest

from fanfold.model.endings import Ending
from fanfold.model.lifecycle import (
    COMMANDS,
    FINISHED_TASKS,
    ITEM_MOVES,
    OPEN_ITEMS,
    SETTLED_ITEMS,
    TASK_MOVES,
    TIMED_ITEMS,
    Actor,
    ItemState,
    Move,
    TaskState,
    diagram,
    legal,
    pairs,
    refusal,
    sources,
    targets,
)
from fanfold.model.money.batch import BATCH_MOVES, MEMBER_MOVES, OPEN_BATCHES, OPEN_MEMBERS, BatchState, MemberState

# Written out once more on purpose: a change of the table is a decision, and has to be made in two places.
TASK_TABLE = {
    "active": "advance on_move pause merge decide cancel retry",
    "waiting": "start resume merge decide cancel retry rerun delete",
    "paused": "resume cancel retry rerun delete",
    "completed": "merge decide retry rerun delete prune",
    "partial": "merge cancel retry rerun delete prune",
    "failed": "retry rerun delete prune",
    "cancelled": "retry rerun delete prune",
}
ITEM_TABLE = {
    "pending": "claim",
    "running": "finish fail postpone release reclaim advance",
    "retrying": "claim retry advance",
    "waiting": "claim retry advance",
    "done": "retry advance decide",
    "failed": "retry advance",
}
BATCH_TABLE = {
    "sending": "send end refuse",
    "running": "fetch refuse",
    "fetching": "end",
    "done": "",
    "failed": "",
}
MEMBER_TABLE = {
    "collected": "send answer fail go_live withdraw",
    "sent": "return answer fail go_live withdraw",
    "answered": "forget",
    "failed": "forget",
    "live": "answer forget",
}
TASK_VERBS = sorted({move.verb for move in TASK_MOVES})
ITEM_VERBS = sorted({move.verb for move in ITEM_MOVES})


@pytest.mark.parametrize("verb", TASK_VERBS)
@pytest.mark.parametrize("state", list(TaskState))
def test_a_task_can_be_moved_exactly_as_the_table_says(state: str, verb: str) -> None:
    assert legal(TASK_MOVES, state, verb) == (verb in TASK_TABLE[state].split())


@pytest.mark.parametrize("verb", ITEM_VERBS)
@pytest.mark.parametrize("state", list(ItemState))
def test_an_item_can_be_moved_exactly_as_the_table_says(state: str, verb: str) -> None:
    assert legal(ITEM_MOVES, state, verb) == (verb in ITEM_TABLE[state].split())


@pytest.mark.parametrize("state", list(BatchState))
def test_a_batch_can_be_moved_exactly_as_the_table_says(state: str) -> None:
    verbs = {move.verb for move in BATCH_MOVES}
    assert {verb for verb in verbs if legal(BATCH_MOVES, state, verb)} == set(BATCH_TABLE[state].split())


@pytest.mark.parametrize("state", list(MemberState))
def test_a_question_in_the_batch_lane_can_be_moved_exactly_as_the_table_says(state: str) -> None:
    verbs = {move.verb for move in MEMBER_MOVES}
    assert {verb for verb in verbs if legal(MEMBER_MOVES, state, verb)} == set(MEMBER_TABLE[state].split())


def test_a_batch_that_is_over_stays_over_and_every_open_one_can_end() -> None:
    over = set(BatchState) - set(OPEN_BATCHES)
    assert not [pair for pair in pairs(BATCH_MOVES) if pair[0] in over]
    assert {source for source, target in pairs(BATCH_MOVES) if target in over} == set(OPEN_BATCHES)
    assert set(sources(MEMBER_MOVES, "withdraw")) == set(OPEN_MEMBERS)


@pytest.mark.parametrize("moves", [ITEM_MOVES, TASK_MOVES, BATCH_MOVES, MEMBER_MOVES])
def test_every_move_says_who_makes_it_and_why(moves: tuple[Move, ...]) -> None:
    assert all(move.by and move.why for move in moves)


def test_only_a_person_or_a_retention_rule_removes_a_task() -> None:
    """The sweep deletes subtasks, after a person has deleted their parent."""
    assert [(move.verb, move.by) for move in TASK_MOVES if not move.targets] == [
        ("delete", (Actor.PERSON, Actor.SWEEP)),
        ("prune", (Actor.SWEEP, Actor.PERSON)),
    ]


def test_an_item_that_is_done_is_touched_again_only_by_a_retry_a_decision_or_a_stage_that_begins_again() -> None:
    assert {move.verb for move in ITEM_MOVES if ItemState.DONE in move.sources} == {"retry", "advance", "decide"}


def test_the_verbs_of_a_person_are_listed_once_and_in_order() -> None:
    assert COMMANDS == ("pause", "resume", "merge", "cancel", "retry", "rerun", "delete")


def test_open_and_settled_items_are_all_items() -> None:
    assert {*OPEN_ITEMS, *SETTLED_ITEMS} == {*ItemState}
    assert not {*OPEN_ITEMS} & {*SETTLED_ITEMS}
    assert {*TIMED_ITEMS} < {*OPEN_ITEMS}


def test_pairs_leave_out_staying_where_one_is() -> None:
    found = pairs((Move("a", ("x", "y"), ("y", "z"), (Actor.PERSON,), "because"),))
    assert found == (("x", "y"), ("x", "z"), ("y", "z"))


def test_sources_and_targets_gather_the_rows_of_a_verb() -> None:
    assert sources(TASK_MOVES, "retry") == (
        "active",
        "waiting",
        "completed",
        "partial",
        "failed",
        "cancelled",
        "paused",
    )
    assert targets(TASK_MOVES, "retry") == ("active", "paused")


@pytest.mark.parametrize("moves", [ITEM_MOVES, TASK_MOVES, BATCH_MOVES, MEMBER_MOVES])
def test_the_diagram_has_an_arrow_for_every_legal_pair(moves: tuple[Move, ...]) -> None:
    drawn = diagram(moves).splitlines()
    assert drawn[0] == "stateDiagram-v2"
    arrows = {tuple(line.strip().partition(":")[0].split(" --> ")) for line in drawn[1:]}
    between_states = {(a, b) for a, b in arrows if a != "[*]" and b != "[*]" and a != b}
    assert between_states == set(pairs(moves))
    assert len(drawn) == len(set(drawn))


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize("state", list(TaskState))
def test_a_refusal_names_the_fact_what_is_needed_and_a_way_out(state: str, verb: str) -> None:
    text = refusal("t-7f3", state, verb, ["rerun", "delete"])
    assert text.startswith(f"Task t-7f3 is {state}: {verb} needs a")
    assert all(source in text for source in sources(TASK_MOVES, verb))
    assert text.endswith("Possible now: fanfold rerun t-7f3, fanfold delete t-7f3")


def test_a_refusal_reads_like_a_sentence() -> None:
    assert refusal("t-7f3", "completed", "pause", ["rerun"]) == (
        "Task t-7f3 is completed: pause needs an active task. Possible now: fanfold rerun t-7f3"
    )


def test_a_refusal_without_a_way_out_says_so() -> None:
    assert refusal("t-1", "active", "cancel", [], "its on_failed step is still running") == (
        "Task t-1 is active: its on_failed step is still running. Nothing can be done with it now."
    )


def test_finished_tasks_are_those_that_can_be_pruned() -> None:
    assert sources(TASK_MOVES, "prune") == FINISHED_TASKS


@pytest.mark.parametrize("ending", list(Ending))
def test_every_ending_is_a_legal_move_of_a_running_item(ending: Ending) -> None:
    if ending.move is None:
        assert (ending.state, ending.event) == (None, None), "it changes nothing"
        return
    assert legal(ITEM_MOVES, ItemState.RUNNING, ending.move)
    assert ending.state is None or ending.state in targets(ITEM_MOVES, ending.move)


def test_every_move_out_of_running_is_an_ending_or_a_new_beginning() -> None:
    moves = {move.verb for move in ITEM_MOVES if ItemState.RUNNING in move.sources}
    assert moves == {ending.move for ending in Ending if ending.move} | {"advance"}


def test_the_stored_words_of_endings_stay_as_they_are() -> None:
    stored = {ending.name: (ending.event, ending.outcome) for ending in Ending}
    assert stored == {
        "FINISH": (None, "done"),
        "FAIL": ("fail", "failed"),
        "BACK_OFF": ("fail", "retrying"),
        "POSTPONE": (None, "postpone"),
        "HOLD": ("hold", "hold"),
        "RELEASE": ("release", "release"),
        "RECLAIM": ("reclaim", "lost"),
        "LOST": (None, "lost"),
    }


@pytest.mark.parametrize("ending", list(Ending))
def test_an_ending_comes_back_from_a_child_process_as_itself(ending: Ending) -> None:
    assert pickle.loads(pickle.dumps(ending)) is ending
