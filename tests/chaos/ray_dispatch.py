"""A dispatcher whose hints get lost, doubled, late and out of order on their way to Ray."""

from __future__ import annotations

import logging
import random
import sys

from fanfold.carriers.dispatch import Dispatcher
from fanfold.carriers.hint import Hint
from fanfold.carriers.ray import RayCarrier
from fanfold.engine.discovery import load_all
from fanfold.engine.worker.signals import heeded
from fanfold.settings import load as load_settings
from fanfold.store.store import Store


class BadPost:
    """Delivers through another carrier: a third of the hints not at all, a third twice, a third later and in another order."""

    def __init__(self, carrier: RayCarrier) -> None:
        self.carrier = carrier
        self.name = carrier.name
        self._late: list[Hint] = []
        self._chance = random.Random(7)

    def send(self, hint: Hint) -> None:
        """Lose it, double it, or keep it for later."""
        fate = self._chance.choice(("lose", "double", "delay"))
        logging.getLogger("fanfold.post").info("[post] %s: %s", fate, hint.id)
        if fate == "delay":
            self._late.append(hint)
        for one in [hint, hint] if fate == "double" else []:
            self.carrier.send(one)
        if len(self._late) > 1:
            self._chance.shuffle(self._late)
            while self._late:
                self.carrier.send(self._late.pop())

    def revoke(self, hint: str, *, kill: bool) -> bool:
        """This arrives."""
        return self.carrier.revoke(hint, kill=kill)

    def lost(self) -> list[str]:
        """What it knows; it knows nothing of what was lost here."""
        return self.carrier.lost()

    def close(self) -> None:
        """Close the carrier."""
        self.carrier.close()


def main(address: str, *targets: str) -> None:
    """Dispatch with short times until it is stopped."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    pipelines = load_all(targets)
    post = BadPost(RayCarrier(targets, pipelines, address, most=2))
    store = Store.open(load_settings())
    dispatcher = Dispatcher(store, pipelines.values(), post, hints=2, seconds=3, resend_seconds=4)
    try:
        with heeded(dispatcher.stop):
            dispatcher.run()
    finally:
        post.close()
        store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
