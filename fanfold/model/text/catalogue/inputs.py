"""Sentences about bad inputs, options and names."""

SENTENCES: dict[str, str] = {
    "template_name": (
        "{name} cannot name a template: use letters, digits, - _ and ., and NAME@2 for a specific version."
    ),
    "template_refused": "The template {name} cannot be used. {problems:then}",
    "template_contended": "Other people are saving the template {name} right now. Try again in a moment.",
    "template_marks": "The template has names that are reserved for files and large values.",
    "no_template": "There is no template {reference} of kind {kind}.[[ To see them: fanfold templates]]",
    "no_template_kind": "No pipeline here takes templates of kind {kind}. Known kinds: {known}.",
    "limit_range": "The limit is {limit}; it must be from 1 to 1000.",
    "limit_low": "The limit is {limit}; it must be 1 or more.",
    "no_task_order": "Unknown order {order!r}. Use one of: {known}.",
    "no_task_state": "Unknown task state {states}. Use one of: {known}.",
    "id_not_text": "The id of a task must be text, not {value}.",
    "not_text": "{what:word} must be text, not {value}.",
    "length_between": "{what:word} must have {least} to {most} characters; it has {length}.",
    "length_at_most": "{what:word} must have at most {most} characters; it has {length}.",
    "length_at_least": "{what:word} must have at least {least} characters; it has {length}.",
    "has_flaw": "{what:word} contains {flaw}. Remove it.",
    "flaw_nul": "a NUL character, which no database stores",
    "flaw_surrogate": "half a surrogate pair, which is not text",
    "not_key_list": "{what:word} must be a list of keys, not {value}.",
    "not_text_list": "{what:word} must be a list of text, and {value} is not text.",
    "priority_range": "The priority {value} is out of range; use a smaller number. Tasks with higher numbers run first.",
    "retry_limit_range": "The retry limit is {value}; it must be from 0 to {most}.",
    "not_whole": "{what:word} must be a whole number, not {value}.",
    "items_no_list": "`items` must be a list or another iterable of items, not {value}.",
    "not_dict": "`{name}` must be a dict, not {value}.",
    "tags_no_list": "`tags` must be a list of text, not {value}.",
    "items_empty": "A task needs at least one item, and `items` is empty.",
    "items_too_slow": "The items were not written in time and were discarded. Submit them again.",
    "needs_items": "Pipeline {pipeline} begins with `{stage}` for each item, so it needs items=[…].",
    "makes_own_items": "Pipeline {pipeline} makes its own items in `{stage}`; give it inputs, not items.",
    "is_folder": "{path} is a folder. Name the files in it.",
    "no_such_file": (
        "There is no file {path}.[[ An input that is not a file goes into an option: --option NAME=VALUE]]"
    ),
    "file_not_allowed": "{path} cannot be read: permission denied.",
    "secret_not_stored": (
        "The option {option} must not be stored, so the task's pipeline has to use it now, and it is not known "
        "here. Run this where the pipeline is installed, or name the pipeline."
    ),
    "option_not_text": "The option {option} must be text.",
    "option_for_file": "The option {option} is for a file, and none was given.",
    "not_opened_here": "{file} cannot be opened here: {why:bare}.",
    "not_opened": "{file} cannot be opened: {why:bare}.",
    "no_copy_made": "its application has made no copy",
    "option_not_number": "The option {option} is {value}, which is not a whole number.",
    "option_refused": "The option {option} is {value:word}; it {rule}.",
    "may_be_list": "must be a list, or text with commas",
    "may_be_choice": "must be one of {choices}",
    "may_be_flag": "must be true or false",
    "may_be_between": "must be from {low} to {high}{unit}",
    "may_be_from": "must be {low} or more{unit}",
    "may_be_up_to": "must be at most {high}{unit}",
    "no_option": "Unknown option {names}. Known options: {known}.",
}
