"""No seed breaks a promise. Forty-eight run with the tests; `make simulate SEEDS=10000` runs more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import one_at_a_time, run_directory
from tests.databases import Databases
from tests.simulation.database import SimulatedStore
from tests.simulation.run import collected_now_and_then, on_one_core, play
from tests.simulation.world import opened

SEEDS = {"sqlite": range(1, 41), "postgresql": range(1, 9)}
SHARES = 3
"""How many tests share the seeds, so that they can run in parallel."""

WILD = {
    "crash at statement", "crash at before commit", "crash at after commit",
    "freeze", "failed commit", "lost answer", "lost statement", "clock step",
}  # fmt: skip
"""What strikes in any forty seeds."""


@pytest.fixture
def store(databases: Databases, tmp_path: Path) -> Iterator[SimulatedStore]:
    with databases.fresh() as url, opened(url, tmp_path) as found:
        yield found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("share", range(SHARES))
def test_no_seed_breaks_a_promise(store: SimulatedStore, share: int) -> None:
    struck = set[str]()
    with on_one_core(), collected_now_and_then() as collect:
        for seed in SEEDS[store.database.dialect.name][share::SHARES]:
            outcome = collect(play(store, seed))
            assert not outcome.problem, f"seed {seed}: {outcome.problem}"
            assert outcome.commits > 0
            struck |= set(outcome.struck)
    if store.database.dialect.name == "sqlite":
        assert struck_in_all(share, struck) >= WILD, "the seeds have become tame"


def struck_in_all(share: int, struck: set[str]) -> set[str]:
    """What struck in the shares of this run; the share that ends last knows, the others assume the best."""
    with one_at_a_time("struck"):
        (run_directory() / f"struck-{share}").write_text("\n".join(sorted(struck)))
        told = [one.read_text().splitlines() for one in run_directory().glob("struck-*")]
    return set().union(*told) if len(told) == SHARES else WILD


@pytest.mark.parametrize("seed", [4])
def test_a_seed_gives_the_same_run_again(store: SimulatedStore, seed: int) -> None:
    play(store, seed)  # What a process says only once, such as a warning, is said by then.
    first, second = (play(store, seed, with_digest=True) for _ in range(2))
    assert first.moments > 100
    assert first.digest == second.digest
    assert (first.commits, first.struck) == (second.commits, second.struck)
