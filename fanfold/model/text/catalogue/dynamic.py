"""Sentences about subtasks, and gates that ask for an answer."""

SENTENCES: dict[str, str] = {
    "waits_for_subtasks": "waits for {count} {count:subtask|subtasks}, such as {task}",
    "subtasks_changed": (
        "{count} {count:subtask was|subtasks were} redone after {count:its result was|their results were} used here: "
        "{tasks}. This task still has the earlier {count:result|results}. To redo what used {count:it|them}, retry {items}: "
        "that submits {count:a new subtask|new subtasks} unless the handler asks for the existing {count:result|results}"
        "[[ (fanfold retry {task} --stage STAGE --item ITEM)]]"
    ),
    "subtask_failed": "The subtask {name} ({task}) is {state:state}: {why}",
    "subtask_gone": "The subtask {name} ({task}) was deleted.",
    "subtask_twice": "This item already has a subtask {name} in this attempt. Give each its own name=.",
    "subtask_name": "The name of a subtask has at most {most} characters; this one has {length}.",
    "subtask_stage": "{stage} cannot submit subtasks: steps, splits and `each` stages can.",
    "subtask_depth": "Subtasks are nested more than {most} deep. A handler that submits its own pipeline must end somewhere.",
    "subtask_pipeline": "No installed package has a pipeline {pipeline!r}. Give the pipeline itself instead of its name.",
    "subtask_budget": "Task {task} has a budget, so its subtask needs one: submit_subtask(…, budget=…).",
    "subtask_exceeds_budget": "A subtask needs more than the {left} that is left of the budget of {cap}",
    "parent_paused": "its parent {task} is paused",
    "parent_resumed": "its parent {task} continues",
    "parent_cancelled": "its parent {task} no longer wants it",
    "delete_parent": "it is a subtask of {parent} and is deleted with it.[[ To delete both: fanfold delete {parent}]]",
    "waits_for_answer": "waits for your answer before {stage}: {names:,}",
    "gate_answered": "answered before {stage}: {answer}",
    "gate_unanswered": "Stage {stage} needs an answer to {names:,}.[[ Give it with --answer NAME=VALUE.]]",
    "gate_passed": "Task {task} no longer waits before {stage}: it is at {place} now, so your answer was not taken.",
    "gate_not_asked": "Task {task} is {state:state} and does not wait for an answer, so none was taken. Resume it without one.",
    "gate_needs_answer": "stage {stage} needs an answer: resume it with one",
    "gate_needs_answer_first": (
        "Stage {stage} needs an answer to {names:,}, so the task cannot go straight through. Submit it without straight_through."
    ),
}
