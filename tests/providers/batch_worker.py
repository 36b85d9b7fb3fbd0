"""A worker process for tests of the batch lane: it is killed at each step that KILL_AT names, and then works on.

For each step a child is forked that kills itself at that step. So every death is a real one, and the modules are loaded once.
"""

import os
import signal
import sys
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

import fanfold as ff
from fanfold.engine.worker.loop import Worker
from fanfold.providers.batches import batch_round, deliver
from fanfold.providers.batches.anthropic_batches import AnthropicBatches
from fanfold.providers.batches.openai_batches import OpenAIBatches
from fanfold.settings import load
from fanfold.store.rows.money.batched_questions import BatchedQuestions
from fanfold.store.rows.money.batches import Batches
from fanfold.store.store import Store

asking = ff.Pipeline("asking")


@asking.each
async def ask(item: Any) -> str:
    """Ask the model the text of the item."""
    return str((await item.ask(str(item.input))).text)


def die(found: object = None) -> None:
    """Die as by `kill -9`; if ``found`` is None or False, the step has not happened."""
    if found is not None and found is not False:
        os.kill(os.getpid(), signal.SIGKILL)


def after(name: str, *owners: Any) -> Callable[[], None]:
    """Die right after a method has returned."""

    def arm() -> None:
        for owner in owners:
            _arm(owner, name)

    return arm


def _arm(owner: Any, name: str) -> None:
    method = getattr(owner, name)

    async def dying_later(*given: Any, **named: Any) -> Any:
        found = await method(*given, **named)
        die(True if found is None and name != "find" else found)
        return found

    def dying(*given: Any, **named: Any) -> Any:
        found = method(*given, **named)
        die(True)
        return found

    setattr(owner, name, dying_later if iscoroutinefunction(method) else dying)


def after_commit(owner: Any, name: str, verb: str = "", times: int = 1) -> Callable[[], None]:
    """Die after the commit of a transaction in which a method was called so often, with ``verb`` if one is given."""

    def arm() -> None:
        method, transact = getattr(owner, name), Store.transact
        used: list[str] = []

        def noted(*given: Any, **named: Any) -> Any:
            if not verb or verb in given:
                used.append(name)
            return method(*given, **named)

        def dying(store: Store, *given: Any, **named: Any) -> Any:
            found = transact(store, *given, **named)
            die(len(used) >= times)
            return found

        setattr(owner, name, noted)
        Store.transact = dying  # type: ignore[method-assign, assignment]

    return arm


SERVICES = (OpenAIBatches, AnthropicBatches)
STEPS = {
    "begun": after_commit(Batches, "begin"),
    "intended": after_commit(Batches, "note_intent"),
    "uploaded": after_commit(Batches, "note_intent", times=2),
    "created": after("create", *SERVICES),
    "found": after("find", *SERVICES),
    "kept": after("_send", batch_round.BatchRound),
    "looked": after("look", *SERVICES),
    "ended at the service": after_commit(Batches, "move", verb="fetch"),
    "result read": after("add", deliver.Delivery),
    "results written": after("write", deliver.Delivery),
    "given back": after_commit(BatchedQuestions, "give_back"),
    "all read": after_commit(Batches, "note_read"),
    "removed": after("remove", *SERVICES),
    "closed": after_commit(Batches, "move", verb="end"),
}
"""The steps in the life of a batch, in their order. Anthropic has no upload, so there is no second intent."""


def work() -> None:
    """Work until told to stop."""
    batch_round.FIND_SECONDS, batch_round.AGAIN_SECONDS = 0.5, 0.1
    Worker([asking], store=Store.open(load())).run(signals=True)


def main() -> None:
    """Let a child die at each step, then work until told to stop."""
    for step in filter(None, os.environ.get("KILL_AT", "").split(",")):
        child = os.fork()
        if not child:
            STEPS[step]()
            work()
            os._exit(0)
        _, ended = os.waitpid(child, 0)
        print(f"{step}: {-os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else os.WEXITSTATUS(ended)}", flush=True)
        if not os.WIFSIGNALED(ended) or os.WTERMSIG(ended) != signal.SIGKILL:
            sys.exit(1)
    work()


if __name__ == "__main__":
    main()
