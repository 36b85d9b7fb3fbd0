"""Guards of the search for work, and of fair shares."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

CANDIDATES, FAIRNESS, CLAIMING = (
    "fanfold/engine/worker/claiming/candidates.py",
    "fanfold/engine/worker/claiming/fairness.py",
    "fanfold/engine/worker/claiming/claim.py",
)
LOOKING, SLOTS, WORKER = (
    "fanfold/store/items/find_work.py",
    "fanfold/engine/worker/claiming/slots.py",
    "fanfold/engine/worker/loop.py",
)
SUSPECTS = "fanfold/engine/worker/claiming/suspects.py"

MUTANTS = (
    mutant(
        "a suspect that cannot be started is not claimed",
        Edit(SUSPECTS, "        return suspects[begin:]\n", "        return []\n"),
        test="engine/test_poison.py::test_a_suspect_that_could_not_begin_is_not_lost_with_the_worker",
    ),
    mutant(
        "the search for work continues where it stopped",
        Edit(CANDIDATES, "            self._lap = page.ends\n", "            self._lap = {}\n"),
        test="engine/test_looking.py::test_what_comes_back_to_an_old_task_is_found_within_a_lap",
    ),
    mutant(
        "new tasks are found by their number",
        Edit(CANDIDATES, "                self._ask_for_news(tx)\n", "                pass\n"),
        test="engine/test_looking.py::test_a_newcomer_is_found_at_once_beside_thousands_that_wait",
    ),
    mutant(
        "an advanced task is found by its number",
        Edit(CANDIDATES, "            self._moved.add(task)\n", "            pass\n"),
        test="engine/test_looking.py::test_a_task_that_moves_on_is_found_at_once_beside_thousands_that_wait",
    ),
    mutant(
        "a search for work is bounded",
        Edit(CANDIDATES, "        for _ in range(PAGES):\n", "        while True:\n"),
        test="engine/test_looking.py::test_a_look_probes_a_bounded_number_of_tasks",
        note="for the cost: without it a look probes every task",
    ),
    mutant(
        "the search visits all due items",
        Edit(LOOKING, "                end = (latest, task)\n", "                pass\n"),
        test="engine/test_looking.py::test_due_items_of_paused_tasks_hide_nobody",
    ),
    mutant(
        "known tasks are probed again",
        Edit(CANDIDATES, "                    del fresh[ready.task]\n", "                    pass\n"),
        test="engine/test_looking.py::test_tasks_whose_work_is_gone_are_forgotten",
    ),
    mutant(
        "every owner is among the known tasks",
        Edit(CANDIDATES, "ranked.append((-ready.priority, rank, ready))", "ranked.append((-ready.priority, 0, ready))"),
        test="engine/test_looking.py::test_no_more_tasks_are_known_than_needed_and_every_owner_is_among_them",
    ),
    mutant(
        "a run ends only when it has seen every task",
        Edit(
            WORKER,
            "        if self.claimer.candidates.seconds_to_look is not None:\n            return False\n",
            "",
        ),
        test="engine/test_looking.py::test_a_run_that_ends_when_nothing_is_left_sees_every_task_first",
    ),
    mutant(
        "every second slot goes to new tasks first",
        Edit(FAIRNESS, "        if self._newcomer_is_next:\n", "        if False:\n"),
        test="engine/test_fairness.py::test_a_newcomer_is_served_within_one_turn_of_the_slots",
    ),
    mutant(
        "an endless series of new tasks does not starve the others",
        Edit(FAIRNESS, "        self.now += count / self._total\n", ""),
        test="engine/test_fairness.py::test_small_tasks_without_end_do_not_starve_a_huge_one",
    ),
    mutant(
        "owners share by their weights",
        Edit(FAIRNESS, "self._weights.get(owner, 1.0) for owner", "1.0 for owner"),
        test="engine/test_fairness.py::test_weights_divide_the_slots_between_owners",
    ),
    mutant(
        "the number of slots follows the stages' concurrency",
        Edit(
            SLOTS,
            "return max(DEFAULT_SLOTS, sum(_wanted(stage, isolate) for _, stage in served))",
            "return DEFAULT_SLOTS",
        ),
        test="engine/test_default_slots.py::test_places_follow_what_the_stages_ask_for",
    ),
    mutant(
        "plain functions get at most 64 threads by default",
        Edit(SLOTS, "min(allowed, MOST_THREADS)", "allowed"),
        test="engine/test_default_slots.py::test_plain_functions_get_no_thousand_threads_by_surprise",
    ),
)
