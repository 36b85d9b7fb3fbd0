"""Lets a few items fail without stopping the task, and says in the result what is missing.

python examples/tolerate_failures.py
"""

import fanfold as ff

totals = ff.Pipeline("totals")


@totals.each(retry=ff.Retry(limit=1, first=0.1), tolerate=0.5)
def read(item: ff.ItemWork) -> int:
    """One number. Text that is not a number stays so, so retrying is pointless."""
    try:
        return int(item.input)
    except ValueError:
        raise ff.Permanent(f"{item.input!r} is not a number", code="no_number") from None


@totals.merge
def add(task: ff.TaskWork, results: ff.Results) -> str:
    """The sum of what could be read, and why the rest is missing."""
    total = sum(result.output for result in results)
    missing = [f"{one.key} ({one.error_message})" for one in results.missing()]
    return f"total {total}; missing: {', '.join(missing) or 'nothing'}"


if __name__ == "__main__":
    print(ff.run(totals, items=["12", "thirty", "30"], progress=False))
