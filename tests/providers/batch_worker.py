"""A worker process for tests of the batch lane: it kills itself at the step that KILL_AT names."""

import os
import signal
from typing import Any

import fanfold as ff
from fanfold.engine.worker.loop import Worker
from fanfold.providers.batches import carry, deliver
from fanfold.settings import load
from fanfold.store.rows.money.batched_questions import BatchedQuestions
from fanfold.store.rows.money.batches import Batches
from fanfold.store.store import Store

asking = ff.Pipeline("asking")


@asking.each
async def ask(item: Any) -> str:
    """Ask the model the text of the item."""
    return str((await item.ask(str(item.input))).text)


def die_after(owner: Any, name: str, step: str) -> None:
    """Kill this process right after a method returns, if KILL_AT names this step."""
    if os.environ.get("KILL_AT") != step:
        return
    method = getattr(owner, name)
    if name in ("_send", "create", "look", "_fetch"):

        async def dying_later(*given: Any, **named: Any) -> Any:
            found = await method(*given, **named)
            os.kill(os.getpid(), signal.SIGKILL)
            return found

        setattr(owner, name, dying_later)
        return

    def dying(*given: Any, **named: Any) -> Any:
        found = method(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, dying)


def die_in_next_transaction(name: str, step: str, verb: str = "") -> None:
    """Kill this process after the commit of the transaction in which a method was called, with ``verb`` if one is given."""
    if os.environ.get("KILL_AT") != step:
        return
    owner = Batches if hasattr(Batches, name) else BatchedQuestions
    method, transact = getattr(owner, name), Store.transact
    used: list[str] = []

    def noted(*given: Any, **named: Any) -> Any:
        if not verb or verb in given:
            used.append(name)
        return method(*given, **named)

    def dying(store: Store, *given: Any, **named: Any) -> Any:
        found = transact(store, *given, **named)
        if used:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, noted)
    Store.transact = dying  # type: ignore[method-assign, assignment]


def main() -> None:
    """Work until told to stop, or until the step at which this process kills itself."""
    from fanfold.providers.batches.openai_batches import OpenAIBatches

    die_in_next_transaction("begin", "begun")
    die_in_next_transaction("note_intent", "intended")
    die_after(OpenAIBatches, "create", "created")
    die_after(carry.Carrier, "_send", "kept")
    die_after(OpenAIBatches, "look", "looked")
    die_after(deliver.Delivery, "add", "fetching")
    die_after(deliver.Delivery, "write", "delivered")
    die_in_next_transaction("give_back", "given_back")
    die_in_next_transaction("move", "ended", verb="end")
    carry.FIND_SECONDS, carry.AGAIN_SECONDS = 3.0, 0.5
    Worker([asking], store=Store.open(load())).run(signals=True)


if __name__ == "__main__":
    main()
