"""Sentences about schedules, and tasks that start later."""

SENTENCES: dict[str, str] = {
    "starts_at": "starts at {at:time}",
    "run_at_or_delay": "Give either run_at or delay, not both.",
    "run_at_aware": "run_at must be a time with a time zone; this is {value}.",
    "delay_range": "delay must be a number of seconds from 0 to ten years; this is {value}.",
    "bad_cron": (
        "{cron!r} is not a cron expression ({why}). Write minute, hour, day, month, weekday, such as 0 3 * * * for every day"
        " at three."
    ),
    "cron_never": "{cron!r} is never due.",
    "no_time_zone": "{zone!r} is not a time zone. Use a name such as Europe/Berlin or UTC.",
    "schedule_name": "The name of a schedule is 1 to 100 letters, digits, dots, hyphens or underscores; this is {name!r}.",
    "schedule_taken": "There is already a schedule {name}.[[ To replace it: fanfold schedule remove {name}]]",
    "no_schedule": "There is no schedule {name}.",
    "schedule_rule": "{field} must be one of {choices:,}; this is {value!r}.",
    "schedule_missed": "nobody was there at that time",
    "schedule_still_runs": "the run before it is not finished",
    "schedule_queued_already": "another run already waits",
    "schedule_had_task": "this time already has task {task}",
    "schedule_secret": "A schedule cannot store the secret option {option}.",
    "schedule_needs_pipeline": (
        "The code of pipeline {pipeline} is not known here.[[ Run it where it is installed, or name it with --target.]]"
    ),
    "webhook_no_secret": (
        "this worker knows no secret for the webhook {webhook}: set {variable} or FANFOLD_WEBHOOK_SECRET where workers run, "
        "then retry"
    ),
    "webhook_bad_secret": "The secret of a webhook must be base64, such as whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw.",
    "webhook_gone": "The webhook {webhook} was removed or disabled.",
    "webhook_answered": "{host} answered {status}: {answer}",
    "webhook_refused": "{host} must not be asked: {why}. The setting private_addresses permits private addresses.",
    "webhook_unreachable": "{host} could not be reached: {why}",
    "webhook_name": "The name of a webhook is 1 to 63 letters, digits, dots, hyphens or underscores; this is {name!r}.",
    "webhook_taken": "There is already a webhook {name}, which belongs to somebody else. Choose another name.",
    "webhook_url_user": "The address of a webhook at {host} contains a user name or a password. It is stored and shown, so "
    "leave them out: the receiver checks the signature instead.",
    "webhook_url": "{url!r} is not a web address that begins with http:// or https://.",
    "webhook_events": "Events are {known:,}; these are not: {unknown:,}.",
    "no_webhook": "There is no webhook {name}.",
    "notify_list": "notify is a list of at most {most} names of webhooks or web addresses.",
}
