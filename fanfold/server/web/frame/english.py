"""Singular forms of page texts, where they differ from the plural; all other texts fit any number."""

ONE: dict[str, str] = {
    "{count} items of {stage}": "{count} item of {stage}",
    "Delete the template “{name}” with its {count} versions. Tasks that used it are not changed.": (
        "Delete the template “{name}” with its only version. Tasks that used it are not changed."
    ),
    "{count} bytes": "{count} byte",
    "{count} tokens": "{count} token",
    "{count} calls": "{count} call",
    "{count} answered calls": "{count} answered call",
    "{count} workers": "{count} worker",
    "{count} attempts failed or were lost": "{count} attempt failed or was lost",
    "{count} unchanged lines": "{count} unchanged line",
    "{count} items will be redone.": "{count} item will be redone.",
    "View the {count} finished ones": "View the finished one",
    "keep these {count} as they are": "keep as it is",
    "retry these {count}": "retry it",
    "Merge: the result will lack {count} failed items.": ("Merge: the result will lack {count} failed item."),
    "Retry: {count} items will be redone{cost}.": "Retry: {count} item will be redone{cost}.",
    "Cancel: {count} of {total} items are unfinished and will not be processed.": (
        "Cancel: {count} of {total} items is unfinished and will not be processed."
    ),
    "“{command}” for {able} of {count} tasks": "“{command}” for {able} of {count} task",
    "“{command}”: done for {count} tasks": "“{command}”: done for {count} task",
}
