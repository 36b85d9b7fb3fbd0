"""Guards that keep a worker and its threads alive, and say so when they are not."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

RESTARTING, SERVICES = "fanfold/engine/worker/beside/restart.py", "fanfold/engine/worker/beside/service_threads.py"
SWEEP, STALLED = "fanfold/engine/tasks/recovery/sweep.py", "fanfold/engine/queries/stalled.py"
PULSE, BLOBS = "fanfold/engine/worker/beside/heartbeat.py", "fanfold/store/files/folder.py"
CRASHES, RECOVERY, POISON_TESTS = (
    "fanfold/store/items/crashes.py",
    "fanfold/store/items/recover.py",
    "engine/test_poison.py",
)
SERVICE_TESTS, STALLED_TESTS = "engine/test_services.py", "engine/test_stalled.py"

MUTANTS = (
    mutant(
        "a worker that leaves gives back what it never heard that it holds",
        Edit(PULSE, "if held:", "if False:"),
        test="mutants/test_guards.py::test_a_worker_that_leaves_gives_back_what_it_never_heard_that_it_holds[sqlite]",
    ),
    mutant(
        "a service thread continues after any error",
        Edit(RESTARTING, "except BaseException as error:", "except DatabaseProblem as error:"),
        test=f"{SERVICE_TESTS}::test_a_sweep_that_raises_is_tried_again[sqlite-recover_now]",
    ),
    mutant(
        "a failed sweep is left to the next worker",
        Edit(SWEEP, 'tx.recovery.give_back_duty("recover", interval)', "pass"),
        test=f"{SERVICE_TESTS}::test_a_recovery_that_fails_gives_its_turn_to_the_next_worker[sqlite]",
    ),
    mutant(
        "a part of the cleaning that fails does not stop the others",
        Edit(
            SWEEP,
            "        except Exception as error:\n            log.error",
            "        except KeyError as error:\n            log.error",
        ),
        test=f"{SERVICE_TESTS}::test_a_part_of_the_cleaning_that_fails_does_not_stop_the_others[sqlite]",
    ),
    mutant(
        "a file that vanishes while it is inspected is skipped",
        Edit(
            BLOBS,
            "        except FileNotFoundError:\n            continue",
            "        except KeyError:\n            continue",
        ),
        Edit(
            BLOBS,
            '        except OSError as error:\n            log.warning("[sweep] Could not look at',
            '        except KeyError as error:\n            log.warning("[sweep] Could not look at',
        ),
        test=f"{SERVICE_TESTS}::test_files_that_vanish_or_resist_while_they_are_swept_do_not_stop_the_sweep[sqlite]",
    ),
    mutant(
        "a blob is written though its empty folder is removed at the same time",
        Edit(BLOBS, "FOLDER_ATTEMPTS = 5", "FOLDER_ATTEMPTS = 1"),
        test=f"{SERVICE_TESTS}::test_a_blob_is_written_though_its_folder_is_removed_at_the_same_time",
    ),
    mutant(
        "a worker without a heartbeat stops itself",
        Edit(PULSE, "not self._stop.is_set() and not self._thread.is_alive():", "False:"),
        test=f"{SERVICE_TESTS}::test_a_worker_whose_heartbeat_thread_is_gone_stops_itself[sqlite]",
    ),
    mutant(
        "a worker whose sweep fails does not say that it ran",
        Edit(SERVICES, "self._swept_at: float | None = None", "self._swept_at: float | None = time.monotonic()"),
        test=f"{SERVICE_TESTS}::test_a_worker_whose_sweep_fails_does_not_say_that_it_ran[sqlite]",
    ),
    mutant(
        "the doctor sees a stalled sweep",
        Edit(STALLED, "if ago > limit}", "if False}"),
        test=f"{STALLED_TESTS}::test_the_doctor_sees_that_no_living_worker_sweeps[sqlite]",
    ),
    mutant(
        "the doctor promises nothing that a living worker has not done",
        Edit(STALLED, "    if not old:\n", "    if True:\n"),
        test=f"{STALLED_TESTS}::test_the_doctor_does_not_promise_what_a_living_worker_has_not_done[sqlite]",
    ),
    mutant(
        "getting further forgives earlier crashes",
        Edit(CRASHES, "sa.case((_got_further(items.c.crashes), items.c.crashes), else_=known)", "known"),
        test=f"{POISON_TESTS}::test_an_attempt_that_gets_further_is_forgiven_all_crashes_before_it[sqlite-reclaim]",
    ),
    mutant(
        "only progress beyond the furthest of any earlier attempt forgives crashes",
        Edit(CRASHES, "sa.func.coalesce(item_data.c.crash_progress, 0.0) + PROGRESS_STEP", "sa.literal(PROGRESS_STEP)"),
        test=f"{POISON_TESTS}::test_an_item_that_reports_the_same_progress_and_dies_is_poison[sqlite-reclaim]",
    ),
    mutant(
        "growing memory forgives only the first crashes",
        Edit(CRASHES, "MEMORY_FORGIVES = 10", "MEMORY_FORGIVES = 10_000"),
        test=f"{POISON_TESTS}::test_an_item_that_remembers_more_each_time_is_forgiven_but_not_for_ever[sqlite-reclaim]",
    ),
    mutant(
        "how far a lost item was is kept",
        Edit(RECOVERY, "        note_crashes(self.connection, sorted(item.id for item in lost if item.began))\n", ""),
        test=f"{POISON_TESTS}::test_an_item_that_reports_the_same_progress_and_dies_is_poison[sqlite-reclaim]",
    ),
    mutant(
        "a stage has a crash limit of its own",
        Edit(CRASHES, "in_a_row >= sa.func.coalesce(_stage_limit(clock.dialect), limit)", "in_a_row >= limit"),
        test=f"{POISON_TESTS}::test_a_stage_has_a_crash_limit_of_its_own[sqlite-reclaim-1]",
    ),
    mutant(
        "a retry forgets earlier crashes",
        Edit("fanfold/store/items/pending.py", '"troubled_by", *CRASHES)', '"troubled_by")'),
        test=f"{POISON_TESTS}::test_a_retry_starts_the_count_anew[sqlite-reclaim]",
    ),
    mutant(
        "a machine that slept during a search does not delay the next one",
        Edit(
            "fanfold/engine/worker/claiming/candidates.py",
            "min(LONGEST_PAUSE_SECONDS, self._walk_seconds / self._share)",
            "self._walk_seconds / self._share",
        ),
        test="engine/test_looking.py::test_a_machine_that_slept_in_the_middle_of_a_walk_goes_on_soon_and_rests_until_then[sqlite]",
    ),
    mutant(
        "an idle worker sleeps until its next search is due",
        Edit(
            "fanfold/engine/worker/claiming/candidates.py",
            "next_look = max(next_look, self._walked_at + self._walk_pause)",
            "pass",
        ),
        test="engine/test_looking.py::test_a_machine_that_slept_in_the_middle_of_a_walk_goes_on_soon_and_rests_until_then[sqlite]",
    ),
)
