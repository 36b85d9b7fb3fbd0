"""Sentences about tasks: why they stopped, and what happened to them."""

SENTENCES: dict[str, str] = {
    "unknown_reason": "unknown",
    "stage_failed": "{stage} failed: {why}",
    "items_failed": "{count} {count:item|items} of {stage} failed{count:: |, for example: }{why}",
    "some_failed": "{count} of {total} {total:item|items} of {stage} failed",
    "step_done": "{stage} is done",
    "step_failed": "{stage} itself failed: {why}",
    "step_goes_on": "{stage} continues",
    "merged_without_held": "without {count} {count:held item|held items} of {stage}",
    "goes_on_without": "left out of the merge: {why}",
    "items_redone": "{count} {count:item|items} of {stage}",
    "items_redone_named": "{count} {count:item|items} of {stage}: {keys}",
    "items_accepted": "{count} degraded {count:item|items} of {stage}: {keys}",
    "external_job": "external job {job}",
    "on_move_failed": "on_move failed: {error}",
    "on_move_again": "{what:bare}. It is retried, with growing pauses",
    "on_move_retried": "{what:bare}; trying again in {seconds:g} s",
    "not_moved": "Task {task} was not moved, because {what}",
    "action_failed_event": "{action} failed: {why}",
}
