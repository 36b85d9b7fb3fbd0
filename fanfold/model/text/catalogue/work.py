"""Sentences about why an attempt at an item failed, was lost, or waits for a person."""

SENTENCES: dict[str, str] = {
    "form_not_partial": ("Task {task} is {state:state}: the form {form} can only be made when the task is completed."),
    "no_reason_given": "no reason given",
    "error_without_message": "{type} without a message",
    "error_not_shown": "{type} with a message that cannot be shown",
    "with_advice": "{what:bare}. {advice}",
    "free_space": "Free some space on that disk",
    "more_files": "Raise the limit on open files (ulimit -n), or lower the concurrency",
    "make_temporary_folder": "Create the folder for temporary files again, or set TMPDIR to another one",
    "crash_and_poison": "{crash} {poison}",
    "poison": (
        "Its process died {crashes} {crashes:time|times} without getting further: given up as poison, because it may be what "
        "kills the process. If the process was killed from outside, the item is harmless[[; to run it again:"
        " fanfold retry {task} --item {key}]]"
    ),
    "worker_died": "its worker died",
    "worker_died_before": "its worker died before the item had certainly begun, so no crash is counted",
    "worker_hangs": "its worker hangs past the time limit",
    "worker_hangs_before": "its worker hangs, and the item may not have begun, so no crash is counted",
    "result_refused": "The database refused its result.",
    "stage_changed_kind": (
        "{stage} was a stage of kind {before} when the task was submitted, and is of kind {now_kind} in the code of this "
        "worker. Run a worker with the earlier code and retry, or submit the work again."
    ),
    "time_limit": "It took longer than its time limit of {seconds:g} s.",
    "external_gave_up": "Gave up on the external job after {waited:.0f} s (limit: {limit:.0f} s).",
    "external_job_gave_up": "Gave up on the external job {job} after {waited:.0f} s (limit: {limit:.0f} s).",
    "external_job_gave_up_error": (
        "Gave up on the external job {job} after {waited:.0f} s (limit: {limit:.0f} s). The last poll failed: {error}"
    ),
    "external_late": (
        "The external job {job} (key {key}) was started by a worker that had lost the item, beside the one that is used. It runs "
        "on, and may be paid for."
    ),
    "external_late_cancelled": (
        "The external job {job} (key {key}) was started by a worker that had lost the item, beside the one that is used. It was "
        "cancelled at the service, and may be paid for."
    ),
    "external_before_redo": (
        "The external job {job} (key {key}) from before the redo was started after all. It runs on, and may be paid for."
    ),
    "external_before_redo_cancelled": (
        "The external job {job} (key {key}) from before the redo was started after all. It was cancelled at the service, and may "
        "be paid for."
    ),
    "external_poll_failed": "The external job {job} could not be polled, and is polled again. {error}",
    "external_unclear": (
        "it is unknown whether the external job {job} was started.[[ Check at the service, then: fanfold external {task} "
        "check | lost | resend]]"
    ),
    "external_unclear_error": (
        "it is unknown whether the external job {job} was started ({error}).[[ Check at the service, then: fanfold external "
        "{task} check | lost | resend]]"
    ),
    "external_no_id": "start returned no id for the external job",
    "external_kind": "The kind of an external job must have at most {most} characters; this one has {length}.",
    "external_name": "The name of an external job must have 1 to {most} characters; this one has {length}.",
    "external_twice": (
        "This attempt has called external(name={name!r}) twice: the second call would get the first one's job. "
        "Give each job its own name: external(..., name='thumb')."
    ),
    "external_stopped": "The task was paused or cancelled, or another worker has the item: no job is started.",
    "attempt_stopped": "The task was paused or cancelled, or this attempt took too long.",
    "lease_lost": "The lease on {key} is lost: another worker has it now.",
    "not_a_question": "A question is a text, or a mapping with the text as `prompt`; this one is {type}.",
    "batch_returns_list": (
        "{stage} is called with a list of items and must return a list with a result for each; it returned {type}."
    ),
    "batch_returns_each": (
        "{stage} returned {results} {results:result|results} for {items} {items:item|items}; it must return one for each, "
        "in order."
    ),
    "batch_list_fixed": (
        "The list of items cannot be changed in place: results are assigned by position. Sort or change a copy, such as "
        "sorted(items, key=...) or list(items), and return the results in the order of the list."
    ),
    "split_yields": "{stage} must yield NewItem objects; it yielded {type}.",
    "split_duplicate": "{stage} yields two items with the key {key!r}; keys must be unique, even when converted to text.",
    "items_duplicate": "Two of the items have the key {key!r}; keys must be unique, even when converted to text.",
    "same_key": "two of its items have the same key",
    "key_like_position": (
        "Item {number} has the key {key!r}, and item {key} has no key, so its position {key} is its key. Give "
        "every item a key, or avoid keys that are plain numbers."
    ),
    "key_length": "The key of item {number} must have 1 to {most} characters and no NUL; it has {length}.",
    "tick_too_short": (
        "its step takes longer than the {seconds:.3g} s that a tick has for it: give it more[[ (--seconds)]], set "
        "takes= to the seconds it needs, or run a worker; then retry it"
    ),
    "stage_spends_nothing": (
        "{stage} reports a cost but is declared with spends=False. The cost counts. Remove spends=False and submit it again."
    ),
    "child_ended": "The process that was to run it ended.",
    "child_stopping": "The worker is stopping.",
    "child_died": "The process that ran it died ({manner}).",
    "killed_by_signal": "killed by signal {signal}",
    "killed_for_memory": "killed by signal {signal}, probably because memory ran out",
    "exit_code": "exit code {code}",
    "child_not_ready": (
        "The child process for it was not ready after {seconds:g} s; its handler was not called. If its modules "
        "take that long to import, raise FANFOLD_CHILD_START_SECONDS{hint}"
    ),
    "child_died_starting": (
        "The child process for it died while it started ({manner}); its handler was not called{hint}"
    ),
    "child_imports": ". It imports {path}: does that need `{guard}`? Its error output may say more",
    "child_out_of_memory": "Out of memory: {error}",
    "child_over_limit": (
        "It used more than the {limit} of memory that a child process may use. If its input is sound, raise the "
        "limit (FANFOLD_CHILD_MEMORY_BYTES={wanted}) and retry it"
    ),
    "children_over_limit": (
        "The child processes together used more than {limit} of memory, and this one used most of it ({taken}). "
        "Run fewer at a time, or set a lower limit for each (FANFOLD_CHILD_MEMORY_BYTES), and retry it"
    ),
    "not_unpickled": (
        "Its arguments cannot be unpickled in a child process: {error:bare}. The item itself is not at fault. "
        "Fix the cause, then retry it."
    ),
    "stage_not_in_child": (
        "The stage {stage} cannot run in a child process: {why:bare}. The item itself is not at fault.[[ "
        "Fix the cause, then: fanfold retry {task}]]"
    ),
    "function_not_in_child": "{function} cannot run in a child process: {why:bare}. The item itself is not at fault.",
    "import_raised": "importing {module} there raised {error}",
    "handler_not_found": (
        "The child process does not find {name} in {module}; is the pipeline defined under `if __name__ == ...`?"
    ),
    "answered_by_other": "answered by {model} instead of {asked}: {tried:then}",
    "bad_change_cursor": "{cursor!r} is not a place in the list of changes. Use the `next` of an earlier page.",
    "no_each_before": "There is no `each` stage before {stage}.",
    "not_a_file_name": "{name!r} is not a file name; leave out folders.",
    "result_file_gone": (
        "The result of {stage} {item} is missing from the data folder. Put it back, or redo it[[: fanfold "
        "retry {task} --stage {stage} {again}]]"
    ),
    "file_gone": "The file {file} is missing from {folder}. Put it back, or start over[[: fanfold rerun {task}]]",
    "file_damaged": (
        "The file {file} in {folder} has {found} {found:byte|bytes}, but {size} {size:was|were} written. It was "
        "changed there, or cut off on its way. "
        "Put it back, or start over[[: fanfold rerun {task}]]"
    ),
    "file_damaged_public": "A file of this task was changed where it is stored, or cut off on its way from there.",
    "half_surrogate": (
        "{what:word} contains half a surrogate pair, which is not text. Decode it with errors='replace'."
    ),
    "not_json": "{what:word} cannot be stored as JSON: {why:bare}.",
    "json_nan": "it contains NaN or infinity, which JSON does not have; use None",
    "json_nested": "it refers to itself or is nested too deeply",
    "nul_in_value": (
        "{what:word} contains a NUL character, which no database stores. Remove it, or write() the bytes to a file."
    ),
    "key_twice": (
        "{what:word} has the key {key} twice, once as text: JSON has only text keys, so one value would be lost."
    ),
    "value_too_large": "{what:word} is {size:size}; the limit is {limit:size}. Return write(name, data) instead.",
    "returned_by": "What {stage} returned",
    "input_of_item": "The input of item {item}",
    "output_of_item": "What {stage} made of item {item}",
    "output_of_stage": "What {stage} made",
    "argument_named": "The argument {name}",
    "option_named": "The option {name}",
    "does_not_fit": "{what:word} cannot be used: {why:bare}.",
    "unreadable": "{what:word} cannot be read back: {why:bare}.",
    "unreadable_held": (
        "{why:ended} The stored value is unchanged; once the code can read it, retry the item[[: fanfold retry {task}]]"
    ),
    "type_unknown": (
        "it is a {type}, which is not known here. Annotate the handlers with that type, give it to Pipeline(types=…), or "
        "register it with register_codec"
    ),
    "field_added": (
        "{type} needs a field `{field}`, which the value does not have. Give the field a default, or register a codec that "
        "knows both shapes"
    ),
    "field_removed": (
        "{type} has no field `{field}`, which the value has. Put the field back, or register a codec that knows both shapes"
    ),
    "in_field": "{type}.{field}: {why:bare}",
    "not_of_type": "{value} cannot be converted to {type}{why}",
    "added_without_key": (
        "{stage} adds an item without a key: give every added item one, ff.NewItem(key=...), so that an attempt that is "
        "repeated does not add it twice."
    ),
    "added_too_many": (
        "An item of {stage} adds too much: at most {most} items with 4 million characters of input in total. Add fewer; "
        "each added item may add more."
    ),
    "added_in_later_each": (
        "{stage} cannot add items: its items are made from those of {before}. Add them in the first `each` stage of the row."
    ),
}
