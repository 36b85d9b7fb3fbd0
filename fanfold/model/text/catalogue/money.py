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
    "budgets_unknown": "fanfold.toml, [budgets]: unknown {names}. There are: {known}.",
    "budgets_no_table": "fanfold.toml: budgets.{name} must be a table: [budgets.{name}]",
    "budgets_period": "fanfold.toml, [budgets]: {value!r} names no period. Use {known:or}, such as '20 per day'.",
}
