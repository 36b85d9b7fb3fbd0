"""Routes for credits: accounts and entries; an admin grants, charges and refunds."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fanfold.engine.credits.accounts import KEY_LENGTH, MOST_LISTED
from fanfold.model.money.credits import MOST_CREDITS, CreditAccount, CreditEntry
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.json_values import shallow
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.submitting import pipeline_of
from fanfold.server.api.tasks import TaskId
from fanfold.server.requests.authentication import At, Looking, Managing
from fanfold.server.threads.database_threads import Router

router = Router(tags=["money"])
Owner = Annotated[Text, Path(min_length=1, max_length=200, examples=["ann"])]
Limit = Annotated[int, Query(ge=1, le=MOST_LISTED)]


class CreditAccountShape(BaseModel):
    """The credits of an owner."""

    owner: str
    balance: int
    opened_at: datetime
    outside: bool = Field(description="Whether another ledger decides what the owner may spend.")

    @classmethod
    def of(cls, account: CreditAccount) -> CreditAccountShape:
        """The account as JSON."""
        return cls.model_construct(**shallow(account))


class CreditEntryShape(BaseModel):
    """An entry of the ledger; charges are negative."""

    id: int
    owner: str
    kind: Literal["grant", "charge", "refund"]
    amount: int
    task: str | None
    item: str | None = Field(description="Null for the task as a whole, and for entries made by hand.")
    generation: int = Field(description="Grows each time a retry charges the item again.")
    actor: str
    reason: str | None
    at: datetime
    key: str | None

    @classmethod
    def of(cls, entry: CreditEntry) -> CreditEntryShape:
        """The entry as JSON."""
        return cls.model_construct(**shallow(entry))


class CreditRequest(BaseModel):
    """An amount to grant or charge by hand."""

    amount: int = Field(ge=1, le=MOST_CREDITS)
    reason: Text | None = Field(default=None, max_length=1_000)
    key: Text | None = Field(default=None, min_length=1, max_length=KEY_LENGTH, description="The same key counts once.")

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"amount": 100, "reason": "bought", "key": "order-17"}]}
    )


class RefundRequest(BaseModel):
    """What to refund: the named items, or everything that the task cost."""

    items: list[Text] | None = Field(
        default=None, max_length=10_000, description="Refund only these items; left out: the whole task. Never empty."
    )
    reason: Text | None = Field(default=None, max_length=1_000)

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"items": ["01"], "reason": "blurred"}]})


class Refunded(BaseModel):
    """The refunded amount; 0 if everything was refunded before."""

    refunded: int


class QuoteRequest(BaseModel):
    """What would be submitted."""

    options: dict[str, JsonValue] = {}
    items: list[JsonValue] | None = None

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"options": {"count": 4}}]})


class Quote(BaseModel):
    """What a task would cost, in credits."""

    price: int
    charged: bool = Field(description="Whether this server charges for tasks of this caller.")


@router.get("/credits", responses=may_answer())
def list_credit_accounts(
    client: Looking, after: Annotated[Text | None, Query(max_length=200)] = None, limit: Limit = 100
) -> list[CreditAccountShape]:
    """List the accounts by owner; without the right to see all owners, your own."""
    return [CreditAccountShape.of(one) for one in client.credits.accounts(after=after, limit=limit)]


@router.get("/credits/entries", responses=may_answer())
def list_credit_entries(
    client: Looking,
    owner: Annotated[Text | None, Query(max_length=200)] = None,
    task: Annotated[Text | None, Query(max_length=32)] = None,
    before: Annotated[int | None, Query(ge=1)] = None,
    limit: Limit = 100,
) -> list[CreditEntryShape]:
    """List entries of the ledger, newest first; to read on, pass the last id as `before`."""
    found = client.credits.entries(owner, task=task, before=before, limit=limit)
    return [CreditEntryShape.of(one) for one in found]


@router.get("/credits/accounts/{owner}", responses=may_answer(404))
def get_credit_account(client: Looking, owner: Owner) -> CreditAccountShape:
    """Get the account of an owner."""
    return CreditAccountShape.of(client.credits.account(owner))


@router.post("/credits/accounts/{owner}/grant", status_code=201, responses=may_answer(409))
def grant_credits(client: Looking, _access: Managing, owner: Owner, wish: CreditRequest) -> CreditEntryShape:
    """Add credits to an account, which is opened if there is none."""
    return CreditEntryShape.of(client.credits.grant(owner, wish.amount, reason=wish.reason, key=wish.key))


@router.post("/credits/accounts/{owner}/charge", status_code=201, responses=may_answer(402, 409))
def charge_credits(client: Looking, _access: Managing, owner: Owner, wish: CreditRequest) -> CreditEntryShape:
    """Take credits from an account, for something other than a task."""
    return CreditEntryShape.of(client.credits.charge(owner, wish.amount, reason=wish.reason, key=wish.key))


@router.post("/tasks/{task_id}/refund", responses=may_answer(404, 409))
def refund_task(client: Looking, _access: Managing, task_id: TaskId, wish: RefundRequest) -> Refunded:
    """Refund what a task cost, or some of its items; nothing is refunded twice."""
    return Refunded(refunded=client.credits.refund(task_id, wish.items, reason=wish.reason))


@router.post("/pipelines/{name}/price", responses=may_answer(404))
def quote_price(place: At, client: Looking, name: Text, wish: QuoteRequest) -> Quote:
    """Get what a task with these options and items would cost, in credits; nothing is submitted."""
    price = client.credits.quote(pipeline_of(place, name), items=wish.items, options=dict(wish.options))
    return Quote(price=price, charged=place.store.settings.credits != "off" and bool(client.owner))
