"""What the pages say of one thing, where it differs from what they say of several; the other texts fit any number."""

ONE: dict[str, str] = {
    "{count} items of {stage}": "{count} item of {stage}",
    "{count} bytes": "{count} byte",
    "{count} tokens": "{count} token",
    "{count} calls": "{count} call",
    "{count} answered calls": "{count} answered call",
    "{count} workers": "{count} worker",
    "{count} attempts failed or were lost": "{count} attempt failed or was lost",
    "{count} unchanged lines": "{count} unchanged line",
    "{count} watch live.": "{count} watches live.",
    "{count} items are done again.": "{count} item is done again.",
    "Look at the {count} that are done": "Look at the one that is done",
    "keep these {count} as they are": "keep as it is",
    "retry these {count}": "retry it",
    "Merge: the result will be without {count} items that failed.": (
        "Merge: the result will be without {count} item that failed."
    ),
    "Retry: {count} items are done again{cost}.": "Retry: {count} item is done again{cost}.",
    "Cancel: {count} of {total} items are not done and will not be.": (
        "Cancel: {count} of {total} items is not done and will not be."
    ),
    "“{command}” for {able} of {count} tasks": "“{command}” for {able} of {count} task",
    "“{command}”: done for {count} tasks": "“{command}”: done for {count} task",
}
