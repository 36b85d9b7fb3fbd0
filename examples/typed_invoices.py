"""Keeps types from input to result: a dataclass in, a pydantic model out, and dates and exact amounts on the way.

python examples/typed_invoices.py
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from pydantic import BaseModel, Field

import fanfold as ff


@dataclass
class Order:
    """The input of an item."""

    customer: str
    ordered: date
    prices: list[Decimal]


class Invoice(BaseModel):
    """The output of an item. Pydantic refuses a negative total."""

    customer: str
    due: date
    total: Decimal = Field(ge=0)


invoices = ff.Pipeline("typed-invoices")


@invoices.split
def read_orders(task: ff.TaskWork[list[str]]) -> Iterator[ff.NewItem[Order]]:
    """One item per line, such as `Ann 2026-11-17 0.10 0.20`."""
    for line in task.input:
        customer, ordered, *prices = line.split()
        yield ff.NewItem(key=customer, input=Order(customer, date.fromisoformat(ordered), [*map(Decimal, prices)]))


@invoices.each
def write_invoice(item: ff.ItemWork[Order, Invoice]) -> Invoice:
    """`item.input` is an Order, for Python and for a type checker."""
    order = item.input
    return Invoice(customer=order.customer, due=order.ordered + timedelta(days=30), total=sum(order.prices, Decimal(0)))


@invoices.merge
def list_invoices(task: ff.TaskWork[list[str]], results: ff.Results[Order, Invoice]) -> list[Invoice]:
    """`result.output` is an Invoice again. The first to be paid comes first."""
    return sorted((result.output for result in results), key=lambda invoice: invoice.due)


if __name__ == "__main__":
    for invoice in ff.run(invoices, ["Ben 2026-11-17 12.50", "Ann 2026-11-02 0.10 0.20"], progress=False):
        print(f"{invoice.due:%d %B}: {invoice.customer} pays {invoice.total}")
