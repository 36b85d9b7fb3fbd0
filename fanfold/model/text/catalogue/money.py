"""What budgets, estimates and costs have to say."""

SENTENCES: dict[str, str] = {
    "budget_amount": "{value} is no amount of money: write US dollars, such as 5.00.",
    "budget_spent": (
        "The budget is used up: {spent} of {cap} spent, and the next call may cost {next}. Raise the budget to go on."
        "[[ To raise it: fanfold budget {task} --raise AMOUNT]]"
    ),
    "budget_spent_unknown": (
        "The budget is used up: {spent} of {cap} spent, {unknown} reserved for calls without an answer, and the next call may "
        "cost {next}. Raise the budget to go on.[[ To raise it: fanfold budget {task} --raise AMOUNT]]"
    ),
    "budget_too_small": (
        "One call may cost up to {next}, and the strict budget is {cap}. Raise the budget to go on.[[ To raise it: fanfold "
        "budget {task} --raise AMOUNT]]"
    ),
    "budget_shared_spent": (
        "The budget of {whose} is used up: {spent} of {cap} spent, and the next call may cost {next}. Raise it under "
        "[budgets] in fanfold.toml, then resume."
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
    "budget_waits": "All that is left of the budget is reserved for calls that are under way",
    "budget_warning": "{share} % of the budget is spent: {spent} of {cap}",
    "budget_shared_warning": "{share} % of the budget of {whose} is spent: {spent} of {cap}",
    "budget_missing": "A strict budget, or one that allows unknown costs, needs an amount: name the budget.",
    "budget_none": (
        "Task {task} has no budget. Name the amount that it may spend.[[ To set one: fanfold budget {task} --to 5.00]]"
    ),
    "budget_by_or_to": "A budget is raised by an amount or to an amount: name one of them.",
    "budget_now": "The budget is {cap} now",
    "costs_group": "Costs cannot be added up by {value}. There are: {known}.",
    "costs_time": "{value} is no day and no time: write it as 2026-11-17 or 2026-11-17T08:00:00+00:00.",
    "sample_count": "{value} is no number of items for a sample: name 1 or more.",
    "sampled": "A sample of {count} of {total} {total:item|items} was processed for an estimate. Resume to do the rest",
    "estimate_no_calls": "No model is asked.",
    "estimate_no_model": "No model is named, so nothing can be estimated. Name a provider or a model.",
    "estimate_declared": (
        "The pipeline declares {calls} {calls:call|calls}. None was measured yet: process a sample to know more."
    ),
    "estimate_declared_measured": (
        "The pipeline declares {calls} {calls:call|calls}; their cost is measured on {before} earlier {before:call|calls}."
    ),
    "estimate_history": "Measured on {count} earlier {count:item|items} of this pipeline with this model.",
    "estimate_sample": "Measured on {count} of {total} {total:item|items}, which are done; their results are kept.",
    "estimate_sample_unknown": "The sample of {count} {count:item|items} has paid for nothing whose price is known.",
    "estimate_price_unknown": "The price of {model} is not known.",
    "estimate_unknown": (
        "Unknown: {pipeline} declares no calls, and has not processed items with {model} that could be counted. Process a "
        "sample to know.[[ To do so: --sample 3]]"
    ),
    "estimate_failed": "Unknown: {why}",
    "budgets_unknown": "fanfold.toml, [budgets]: unknown {names}. There are: {known}.",
    "budgets_no_table": "fanfold.toml: budgets.{name} must be a table: [budgets.{name}]",
    "budgets_period": "fanfold.toml, [budgets]: {value!r} names no period. Use {known:or}, such as '20 per day'.",
}
