"""Sentences about commands that are refused."""

SENTENCES: dict[str, str] = {
    "no_lane": "Unknown lane '{lane}'. Use live, batch or auto.",
    "lane_of_finished": "Task {task} is {state:state}: only a task that is not finished can change its lane.",
    "lane_changed": "the lane is now {lane}",
    "refused": "Task {task} is {state:state}: {problem}.[[ Possible now: {ways}]]",
    "refused_for_good": "Task {task} is {state:state}: {problem}. Nothing can be done with it now.",
    "needs_state": "{verb:word} needs {states:a} task",
    "step_running": "its {stage} step is still running",
    "none_failed": "none of its items has failed; name the ones to redo[[ with --item]]",
    "no_merge": "its pipeline has no merge",
    "not_started_yet": "it has not started yet; resume starts it before its time",
    "waits_before_no_merge": "it waits before {stage}, which is not a merge",
    "merges_by_itself": "none of its items waits for a person, so it merges by itself",
    "cannot_go_on_without": "it cannot continue without {stage}, which waits for you",
    "no_merge_follows": "no merge follows {stage}",
    "split_follows_merge": "{stage} follows its last merge and would run again",
    "deleted_meanwhile": "The task was deleted meanwhile.",
    "value_without_replace": "A value is only for replace, not for {verdict} (item {item}, part {part}).",
    "decision_too_large": (
        "The value for part {part} of item {item} is {size:size}; the limit is {limit:size}. Decide about smaller parts."
    ),
    "decision_with_file": (
        "The value for part {part} of item {item} contains a file. Decisions hold text, numbers and other JSON values."
    ),
    "nothing_to_decide": "Task {task} has no stage with many items, so there is nothing to decide about.",
    "decisions_of_each": "{stage} has no items with results to be merged; decisions are about items of an `each` stage.",
    "decisions_not_read": "No merge reads decisions about {stage}. They can be about {read:or}.",
    "decisions_about_item": "{count} {count:decision|decisions} about {item}",
    "decisions_about_items": "{count} decisions about {items} items: {keys}",
    "no_decision": "{value} is not a decision: it has none of the fields {fields}.",
    "decision_lacks": "A decision lacks {names}: {value}. Its fields are {fields}.",
    "decision_unknown": "A decision has the unknown field {names}: {value}. Its fields are {fields}.",
    "no_verdict": "Unknown verdict {verdict!r}. Use one of: {verdicts}.",
    "task_deleted": "Task {task} was deleted.",
    "moving_on": "The task is changing its stage right now; try again in a moment.",
    "steered_by_others": "Somebody else changed the task at the same time; try again.",
    "put_back_by_others": "Somebody else is resetting items of task {task} at the same time; try again.",
    "items_or_degraded": "Name the items to redo, or ask for the degraded ones, not both.",
    "no_such_items": "Task {task} has no item {keys}.[[ To see them: fanfold items {task}]]",
    "no_such_items_in": "Task {task} has no item {keys} in {stage}.[[ To see them: fanfold items {task}]]",
    "items_busy": ("Some of these items of task {task} are pending or running; wait for them, or pause the task."),
    "none_degraded_named": "Task {task} is {state:state}: none of these items has a degraded result that still needs accepting.",
    "none_degraded_in": "Task {task} is {state:state}: no item of {stage} has a degraded result that still needs accepting.",
    "none_degraded": "Task {task} is {state:state}: none of its items has a degraded result that still needs accepting.",
    "runs_once": "{stage} runs once per task, when the task ends; it cannot be retried by itself.",
    "nothing_to_redo": "Task {task} has no failed items in {stage}; to redo done ones, name them[[ with --item]].",
    "password_too_late": (
        "Task {task} has already read its input: a password has no effect on {stage}. Start it over, or submit "
        "the file again with its password."
    ),
    "input_changed": "Somebody else changed the input of task {task} at the same time; try again.",
    "no_many_items_retry": (
        "Task {task} has no stage with many items, so it is retried without naming any[[: fanfold retry {task}]]"
    ),
    "no_such_place": "{place} is no place in the streamed output of this task. Use the `place` of a line that you received.",
    "no_many_items": "Task {task} has no stage with many items.",
    "degraded_accepted": (
        "Task {task} cannot be retried like this: its degraded items are accepted. Name those to redo[[ with --item]]."
    ),
    "not_degraded": "Task {task} cannot be retried like this: none of its items is degraded.",
    "pipeline_needed": (
        "Task {task} can be started over only where its pipeline {pipeline} is installed, since its stages may have "
        "changed.[[ Name the pipeline: fanfold rerun {task} --target module:pipeline]]"
    ),
    "begins_differently": (
        "Task {task} began with {before}, but its pipeline now begins with {after}: submit it again."
    ),
    "mirror_needed": (
        "Every move of task {task} calls on_move of {pipeline}, so this pipeline is needed here.[["
        " Name it: --target module:pipeline]]"
    ),
    "no_such_move": "The table of moves has no {verb:word} to {state:state}.",
    "no_external_verb": "Unknown command {verb} for external jobs. Use one of: {known}.",
    "no_external_jobs_for": (
        "Task {task} has no external job for item {keys}.[[ To see them: fanfold external {task}]]"
    ),
    "external_starting": "An external job of task {task} is being started right now: wait a moment, then try again.",
    "external_item_ended": (
        "The items of these external jobs of task {task} have ended: {keys}. Retry them first; their jobs are then looked up, "
        "not started again.[[ fanfold retry {task} {key}]]"
    ),
    "no_external_to_check": "Task {task} has no external job to check.[[ To see them: fanfold external {task}]]",
    "no_external_unknown": (
        "Task {task} has no external job of unknown outcome.[[ To see them: fanfold external {task}]]"
    ),
    "action_needs_state": "Task {task} is {state:state}: the action {action} needs a task that is {states:words}.",
    "action_not_taken": "the action {action} cannot be run",
    "no_action": "The pipeline {pipeline} has no action {action!r}. It has: {known}.",
    "no_actions": "The pipeline {pipeline} has no action {action!r}. It has none.",
    "action_failed": "The action {action} of task {task} failed: {why}",
    "action_returned": "The action {action} returned {type}. It must return text, or nothing.",
    "form_not_made": "the form {form} of task {task} cannot be made",
    "no_form": "The pipeline {pipeline} has no form {form!r}. It has: {known}.",
    "no_forms": "The pipeline {pipeline} has no form {form!r}. It has none.",
    "form_failed": "The form {form} of task {task} cannot be made: {why}",
    "form_no_file": "The form {form} returned {name}, which is not a file.",
    "form_returned": "The form {form} returned {type}. It must return text, bytes, a path or a File.",
    "form_changed": "Task {task} changed while its form {form} was made. Ask again when it is completed.",
    "pipeline_not_loaded": "The pipeline {pipeline} of task {task} cannot be loaded here, so {what}: {error}",
    "pipeline_not_known": (
        "The code of the pipeline {pipeline} is not known here, so {what}. Install the package that has it, or "
        "start the server with it.[[ In a command: --target package.module:pipeline]]"
    ),
    "no_result": "Task {task} is {state:state} and has no result.{ways}",
    "no_result_because": "Task {task} is {state:state} and has no result: {why:bare}.{ways}",
    "possible_now": "[[ Possible now: {ways}.]]",
    "earlier_result": "{what}[[ For its earlier result: fanfold result {task} --earlier.]]",
    "no_output": "Item {item} of task {task} is {state:state} and has no output.",
    "no_earlier_output": "Item {item} of task {task} is {state:state} and has no earlier output.",
    "no_output_but_earlier": (
        "Item {item} of task {task} is {state:state} and has no output. Its earlier output is available[[ (--earlier)]]."
    ),
    "still_in_state": "Task {task} is still {state:state} after {seconds:g} s.",
    "no_file": "Task {task} has no file {name}.",
    "no_task": "There is no task {task}.[[ To see them all: fanfold tasks]]",
    "several_tasks": "{task} matches several tasks: {tasks}. Give more of the id.",
    "no_stage": "There is no stage '{stage}' in this task: it has {stages}.",
    "key_taken": "There is already a task with the key {key!r}.",
    "key_reused": (
        "The key {key!r} belongs to task {task}, which is different work: its pipeline, options, inputs or items "
        "differ. Use a new key for new work[[; to see that task: fanfold show {task}]]"
    ),
}
