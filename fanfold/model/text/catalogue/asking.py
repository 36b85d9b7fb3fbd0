"""Sentences about models that gave no acceptable answer."""

SENTENCES: dict[str, str] = {
    "service_said": "{service} {said:ended}",
    "answered_status": "answered {status}: {said}",
    "answered_error": "answered 200 with an error inside: {said}",
    "reply_without_answer": "answered 200 without an answer inside",
    "late": "did not answer within {seconds:g} s",
    "unreadable_answer": "sent an answer that cannot be read: {type}",
    "broke_off": "closed the connection early",
    "short_of_files": "cannot be reached, because this machine has no free file descriptors. {advice}",
    "not_reached": "cannot be reached at {address}",
    "asked_to_wait": "asked for a wait",
    "needs_key": "{provider} needs a key. Set the environment variable {variable} where the workers run.",
    "needs_library": "{provider} needs a library that is not installed: pip install 'fanfold[anthropic]'",
    "then_resume": "{why} Then resume.",
    "left_alone": "{why} It asks for a wait of {minutes:.0f} min.",
    "put_right": "{why} Fix that, then resume.",
    "answer_not_taken": "The answer of {model} cannot be used: {why:bare}.",
    "no_answer": "{reasons:;}.",
    "batch_refused": "{service} refused the batch: {said:ended}",
    "batch_may_be_ours": "has a batch {job} that may belong to Fanfold; this can be checked only when the batch has ended",
    "batch_question_changed": "The handler asked a different question than in its previous attempt, whose question was "
    "answered in a batch. In the batch lane a handler runs again from the start and must ask the same question: keep "
    'times and random numbers out of it, or use lane="live".',
    "batch_not_there": "{why:ended} The batch may have been deleted there, or belong to another key. Fanfold keeps looking for "
    "it. If it is lost, switch the task to live, or cancel it; its questions then count as possibly paid",
    "batch_lost": "{why:ended} Its questions count as possibly paid",
    "batch_without_answer": "gave no answer to this question in its batch",
    "bad_duration": "'{value}' is not a length of time. Write seconds, or a number with a unit: 90s, 30m, 6h, 2d.",
    "answer_repeats": "it repeats itself endlessly",
    "answer_cut_off": "it was cut off",
    "answer_filtered": "the service's filter blocked it",
    "answer_empty": "it is empty",
    "answer_refuses": "the model refuses: {text}",
    "no_model_to_ask": "{model} is not a known model. Use one of: {known}.",
    "cost_unknown": "unknown cost",
    "cost_unknown_paid": "unknown cost, {count} unanswered {count:call|calls} may be charged",
    "cost_possibly_paid": "{amount}, {count} unanswered {count:call|calls} may be charged",
    "no_default_model": "{provider} has no default model.[[ Name one: --model {provider}:MODEL]]",
    "no_provider": (
        "Unknown provider {provider!r}. Known providers: {known}.[[ To add one: [providers.{example}] in "
        "fanfold.toml.]]"
    ),
    "model_without_provider": (
        "{entry!r} names no known provider, and there is no default provider. Known providers: {known}. Write "
        "PROVIDER:MODEL with one of them[[, set up {prefix!r} ([providers.{example}] in fanfold.toml), or name the "
        "default in FANFOLD_PROVIDER]]."
    ),
    "provider_no_table": "fanfold.toml: providers.{provider} must be a table: [providers.{provider}]",
    "provider_name": "{provider!r} cannot be the name of a provider: use lower-case letters, digits, - and _, but not {local!r}.",
    "variable_unknown": "{variable} is not a known setting. A provider has: {known}.",
    "key_written_down": '{where}: keys must not be in this file. Name the environment variable that has it: key_env = "MY_KEY"',
    "provider_fields_unknown": "{where}: unknown {names}. A provider has: {known}.",
    "provider_kind": "{where}: kind is {kind!r}; use {known:or}.",
    "provider_address": "{where}: base_url must begin with http:// or https://",
    "provider_price": "{where}: price is {price!r}. Write `{free}` for a server of your own, or price_input and price_output.",
    "provider_positive": "{where}: concurrency and timeout must be more than 0.",
    "limit_used_up": "is not asked now: the limit {limit} is used up",
    "quota_spent": "has no requests left for today",
    "models_no_table": "{where}: models must be a table with a table for each model.",
    "no_limit": "Unknown limit {key!r}. Known limits: {known}.",
    "limit_seconds": "A limit can be closed for more than 0 and at most {most:g} s.",
    "provider_no_number": "{where}: {name} is {value}, which is not a number.",
}
