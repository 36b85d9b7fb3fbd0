"""Guards against a machine that is short of open files, disk space, or temporary files."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

CALLER = "fanfold/engine/worker/attempt/caller.py"
SHORTAGE = "fanfold/model/shortage.py"
SHORTAGES = "fanfold/engine/worker/shortages.py"
SETTLEMENT = "fanfold/engine/worker/attempt/attempt_result.py"
WORKER = "fanfold/engine/worker/loop.py"
TESTS = "engine/test_shortages.py"
MODEL_TESTS = "model/test_shortage.py"
MUTANTS = (
    mutant(
        "a shortage uses up no retry",
        Edit(SETTLEMENT, "if advice is not None or not _counts(error):", "if not _counts(error):"),
        test=f"{TESTS}::test_a_shortage_uses_up_no_retry",
    ),
    mutant(
        "`Permanent` from a handler counts even in a shortage",
        Edit(SETTLEMENT, "advice = None if _is_final(error) else shortage(error)", "advice = shortage(error)"),
        test=f"{TESTS}::test_a_handler_that_gives_up_for_good_is_believed_whatever_the_cause",
    ),
    mutant(
        "a shortage is seen inside the error of a library",
        Edit(SHORTAGE, "            waiting.append(one.__cause__)\n", "            pass\n"),
        test=f"{MODEL_TESTS}::test_only_errors_about_files_and_space_are_a_shortage",
    ),
    mutant(
        "a file that is missing elsewhere is not a missing folder for temporary files",
        Edit(SHORTAGE, " or os.path.isdir(folder):", ":"),
        test=f"{MODEL_TESTS}::test_a_temporary_folder_that_is_gone_is_a_shortage",
    ),
    mutant(
        "the chain of causes is followed to a limit",
        Edit(SHORTAGE, "DEEPEST = 20", "DEEPEST = 200"),
        test=f"{MODEL_TESTS}::test_causes_that_go_round_in_a_circle_come_to_an_end",
    ),
    mutant(
        "nothing is claimed in a shortage",
        Edit(WORKER, " and not self._shortages.lasts and", " and"),
        test=f"{TESTS}::test_nothing_is_claimed_while_a_probe_finds_too_little[sqlite]",
    ),
    mutant(
        "one item's own shortage holds up nobody else",
        Edit(SHORTAGES, "        if problem is None:\n", "        if False:\n"),
        test=f"{TESTS}::test_one_item_that_fills_its_own_disk_holds_up_nobody_else[sqlite]",
    ),
    mutant(
        "other errors of a folder do not hold up a worker",
        Edit(SHORTAGES, "return told(error) if shortage(error) is not None else None", "return str(error)"),
        test=f"{TESTS}::test_trouble_of_another_kind_does_not_hold_up_a_worker",
    ),
    mutant(
        "a turn that gets no file is taken again",
        Edit(
            "fanfold/engine/worker/database_thread.py",
            "if (why := told(error)) is None or self._gives_up():",
            "if (why := told(error)) is not None or self._gives_up():",
        ),
        test=f"{TESTS}::test_a_turn_that_gets_no_file_is_taken_again[sqlite]",
    ),
    mutant(
        "items of a split that get no file are written later",
        Edit(
            CALLER,
            "                if (why := told(error)) is None:\n",
            "                if (why := told(error)) is not None:\n",
        ),
        test=f"{TESTS}::test_items_of_a_split_that_get_no_file_are_written_later[sqlite]",
    ),
    mutant(
        "a child without files fails nothing for good",
        Edit("fanfold/engine/worker/processes/child.py", " or shortage(error) is not None:", ":"),
        test=f"{TESTS}::test_a_child_that_cannot_load_a_handler_for_want_of_files_fails_nothing[sqlite]",
    ),
    mutant(
        "a tick does not serve what it will not start",
        Edit(WORKER, " if self.claimer.fits(one)]", "]"),
        test="engine/test_budget.py::test_a_task_says_that_ticks_leave_its_stage_out[sqlite]",
    ),
    mutant(
        "a read-only database is not mistaken for missing workers",
        Edit("fanfold/model/words.py", "    if facts.read_only:\n", "    if False:\n"),
        test="engine/test_reading.py::test_a_task_says_that_its_database_takes_no_writes",
    ),
    mutant(
        "a source that cannot be read is not a fault of the data folder",
        Edit("fanfold/store/files/folder.py", "        raise SourceUnreadable(error) from None\n", "        raise\n"),
        test="store/test_blobs.py::test_a_source_that_cannot_be_read_is_no_trouble_of_the_data_folder",
    ),
)
