"""Sentences about budgets, estimates and costs."""

SENTENCES: dict[str, str] = {
    "budget_amount": "{value} is not an amount of money: write US dollars, such as 5.00.",
    "budget_amount_small": "{value} is too small to be counted: the smallest amount is 0.000000001 dollars.",
    "budget_spent": (
        "The budget is used up: {spent} of {cap} spent, and the next call may cost {next}. Raise the budget to continue."
        "[[ To raise it: fanfold budget {task} --raise AMOUNT]]"
    ),
    "budget_spent_own": (
        "The budget is used up: {spent} of {cap} spent. Raise the budget to continue.[[ To raise it: fanfold budget {task} "
        "--raise AMOUNT]]"
    ),
    "budget_spent_unknown": (
        "The budget is used up: {spent} of {cap} spent, {unknown} reserved for calls without an answer, and the next call may "
        "cost {next}. Raise the budget to continue.[[ To raise it: fanfold budget {task} --raise AMOUNT]]"
    ),
    "budget_too_small": (
        "One call may cost up to {next}, and the strict budget is {cap}. Raise the budget to continue.[[ To raise it: fanfold "
        "budget {task} --raise AMOUNT]]"
    ),
    "budget_shared_spent": (
        "The budget of {whose} is used up: {spent} of {cap} spent, and the next call may cost {next}. Raise it under "
        "[budgets] in fanfold.toml, then resume."
    ),
    "budget_shared_spent_own": (
        "The budget of {whose} is used up: {spent} of {cap} spent. Raise it under [budgets] in fanfold.toml, then resume."
    ),
    "budget_shared_own_exceeded": (
        "The budget of {whose} is used up: {spent} of {cap} spent, also by costs that handlers report themselves. What runs "
        "is finished, and nothing new begins"
    ),
    "budget_of_owner": "owner {name}",
    "budget_of_owner_in": "owner {name} for {time}",
    "budget_of_provider": "provider {name}",
    "budget_of_provider_in": "provider {name} for {time}",
    "budget_of_day": "the day {day}",
    "budget_price_unknown": (
        "The price of {model} is not known, so no budget can be kept. Set price_input and price_output under "
        "[providers.{provider}] in fanfold.toml, or allow unknown costs.[[ To allow them: fanfold budget {task} "
        "--allow-unknown-cost]]"
    ),
    "budget_waits": "The rest of the budget is reserved for calls in flight",
    "budget_warning": "{share} % of the budget is spent: {spent} of {cap}",
    "budget_shared_warning": "{share} % of the budget of {whose} is spent: {spent} of {cap}",
    "budget_own_exceeded": (
        "The budget is used up: {spent} of {cap} spent, by costs that handlers report themselves. What runs is finished, and "
        "nothing new begins"
    ),
    "budget_missing": "A strict budget, or one that allows unknown costs, needs an amount: name the budget.",
    "budget_none": (
        "Task {task} has no budget. Name the amount that it may spend.[[ To set one: fanfold budget {task} --to 5.00]]"
    ),
    "budget_by_or_to": "A budget is raised by an amount or to an amount: name one of them.",
    "budget_now": "The budget is now {cap}",
    "credits_amount": "{what} must be a whole number from {least} to {most}; this is {value}.",
    "credits_no_items": (
        "The price is per item, and the task is submitted without items: a split makes them. Name their keys in `items`."
    ),
    "credits_item_key": "{key!r} is not the key of an item, so it cannot have a price.",
    "credits_too_many": (
        "At most {most} items of a task can have their own price; these are {count}. Give the task one price instead."
    ),
    "credits_not_enough": (
        "This costs {price} {price:credit|credits}, and {owner} has {balance}. Nothing was begun.[[ To add some: fanfold "
        "credits grant {owner} AMOUNT]]"
    ),
    "credits_again": "redone",
    "credits_repriced": "redone at another price",
    "credits_refunded": "not delivered: the task is {state:state}",
    "credits_refunded_deleted": "not delivered: the task was deleted",
    "credits_refunded_by_hand": "refunded by hand",
    "credits_none": "There is no account of {owner}.",
    "credits_foreign": "Only an administrator can grant, charge or refund credits, or see those of other owners.",
    "credits_task_free": "Task {task} has cost no credits.",
    "credits_items_free": "These items of task {task} have cost no credits: {items:,}.",
    "credits_key_reused": "The key {key} of {owner} belongs to another entry: {amount} {amount:credit|credits}.",
    "costs_group": "Costs cannot be added up by {value}. Use one of: {known}.",
    "costs_time": "{value} is not a day or a time: write it as 2026-11-17 or 2026-11-17T08:00:00+00:00.",
    "sample_count": "{value} is not a number of items for a sample: use 1 or more.",
    "sample_set": "Only a sample of {count} {count:item|items} is processed for now",
    "sampled": "A sample of {count} of {total} {total:item|items} was processed for an estimate. Resume to do the rest",
    "estimate_no_calls": "No model is asked.",
    "estimate_no_model": "No model is named, so nothing can be estimated. Name a provider or a model.",
    "estimate_declared": (
        "The pipeline declares {calls} {calls:call|calls}. None was measured yet: process a sample to find out more."
    ),
    "estimate_declared_measured": (
        "The pipeline declares {calls} {calls:call|calls}; their cost is measured on {before} earlier {before:call|calls}."
    ),
    "estimate_history": "Measured on {count} earlier {count:item|items} of this pipeline with this model.",
    "estimate_sample": "Measured on {count} of {total} {total:item|items}, which are done; their results are kept.",
    "estimate_sample_failed": (
        "Measured on {count} of {total} {total:item|items}, of which {failed} failed; what these cost is included."
    ),
    "estimate_sample_later": "{why:ended} What later stages ask is not included: {stages}.",
    "estimate_sample_unknown": "The sample of {count} {count:item|items} made no paid call with a known price.",
    "estimate_price_unknown": "The price of {model} is not known.",
    "estimate_unknown": (
        "Unknown: {pipeline} declares no calls, and has no earlier items with {model} to measure. Process a sample to "
        "find out.[[ To do so: --sample 3]]"
    ),
    "estimate_failed": "Unknown: {why}",
    "budgets_unknown": "fanfold.toml, [budgets]: unknown {names}. Use: {known}.",
    "budgets_no_table": "fanfold.toml: budgets.{name} must be a table: [budgets.{name}]",
    "budgets_period": "fanfold.toml, [budgets]: {value!r} names no period. Use {known:or}, such as '20 per day'.",
}
