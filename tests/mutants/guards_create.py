"""Guards of new items: written in short transactions, hidden until they count, compared under their key."""

from tests.mutants.mutant import Edit, mutant

CALLER = "fanfold/engine/worker/attempt/caller.py"
SUBMIT = "fanfold/engine/tasks/submitting/submit.py"
NEW_ITEMS = "fanfold/engine/tasks/many_items/new_items.py"
COUNTING = "fanfold/store/items/count.py"
ABANDONED = "fanfold/engine/tasks/recovery/abandoned.py"
DRAFTS = "fanfold/store/items/large/drafts.py"
DRAFTING = "fanfold/engine/tasks/many_items/draft.py"
SPLITTING = "fanfold/engine/tasks/moving/split.py"
LARGE_SPLIT = "engine/test_large_split.py"
COPYING = "fanfold/engine/tasks/moving/copy_items.py"
ADVANCE = "fanfold/engine/tasks/moving/advance.py"
LARGE_COPY = "engine/test_large_copy.py"

MUTANTS = (
    mutant(
        "a key compares the work",
        Edit(SUBMIT, "    if not same:\n", "    if False:\n"),
        test="engine/test_keys.py::test_other_items_under_a_key_are_refused[sqlite-fewer]",
    ),
    mutant(
        "the items in the fingerprint",
        Edit("fanfold/engine/tasks/submitting/inputs.py", 'digest.update(f"\\0items {items}".encode())', "pass"),
        test="engine/test_keys.py::test_other_items_under_a_key_are_refused[sqlite-more]",
    ),
    mutant(
        "the content of files in the fingerprint",
        Edit("fanfold/engine/tasks/submitting/inputs.py", "{_canonical(name)} {content}", "{_canonical(name)}"),
        test="engine/test_keys.py::test_a_file_of_the_same_name_and_size_with_other_content_is_refused[sqlite]",
    ),
    mutant(
        "the loser of a race compares as well",
        Edit(
            SUBMIT,
            "return Submitted(_compared(existing, pipeline, wanted, checked, made.fingerprint), False)",
            "return Submitted(existing, False)",
        ),
        test="engine/test_keys.py::test_the_loser_of_a_race_is_compared_with_the_winner[sqlite-False]",
    ),
    mutant(
        "no key that is another item's position",
        Edit(NEW_ITEMS, "        self._check_positions()\n", ""),
        test="engine/test_large_submit.py::test_a_key_that_is_the_position_of_an_item_without_one_is_refused",
    ),
    mutant(
        "many items at submit in short transactions",
        Edit(SUBMIT, "if self.new_items.fits_one_chunk else", "if True else"),
        test="engine/test_large_submit.py::test_no_transaction_of_a_large_submit_writes_more_than_a_bounded_number_of_rows[sqlite]",
    ),
    mutant(
        "counts leave drafts out",
        Edit(COUNTING, "part if hidden else part.having(counts_in_group())", "part"),
        test="store/test_drafts.py::test_no_reader_sees_an_item_of_a_hidden_stage[sqlite]",
    ),
    mutant(
        "the task appears only while its draft is still ours",
        Edit(
            SUBMIT,
            "            if not tx.drafts.refresh(number, stage, self.task_id):\n                return None\n",
            "",
        ),
        test="engine/test_large_submit.py::test_a_submit_that_slept_too_long_begins_again_and_gives_each_item_once",
    ),
    mutant(
        "what a dead submit left is swept",
        Edit(
            ABANDONED,
            "        if draft.seconds < SUBMIT_SECONDS:\n            return False\n",
            "        return False\n",
        ),
        test="engine/test_large_submit.py::test_a_large_submit_that_dies_between_chunks_shows_nothing_and_is_swept[sqlite-2]",
    ),
    mutant(
        "a fresh draft of another process is left alone",
        Edit(DRAFTS, "where=sa.or_(drafts.c.token == token, mine)", "where=sa.true()"),
        test="store/test_drafts.py::test_a_fresh_draft_of_somebody_else_is_left_to_them",
    ),
    mutant(
        "the lease at every chunk of a split",
        Edit(SPLITTING, "not stopped() and tx.settling.holds(claimed.id, claimed.lease)", "not stopped()"),
        Edit(DRAFTING, "if not may(tx) or not tx.drafts.refresh(task, stage, token):", "if not may(tx):", count=2),
        test=f"{LARGE_SPLIT}::test_a_splitter_that_lost_its_lease_stops_at_its_next_chunk",
    ),
    mutant(
        "many items of a split in short transactions",
        Edit(
            SPLITTING,
            "if one.new_items.token is None and one.new_items.fits_one_chunk:",
            "if one.new_items.token is None:",
        ),
        test=f"{LARGE_SPLIT}::test_no_transaction_of_a_large_split_writes_more_than_a_bounded_number_of_rows[sqlite]",
    ),
    mutant(
        "what an earlier split left is removed first",
        Edit(
            SPLITTING,
            "        for stage in found:\n            if not remove",
            "        for stage in ():\n            if not remove",
        ),
        test=f"{LARGE_SPLIT}::test_a_new_split_replaces_all_that_an_earlier_one_gave",
    ),
    mutant(
        "a large split is written outside of the turn",
        Edit(CALLER, "settlement.new_items is None or settlement.new_items.fits_one_chunk:", "True:"),
        test=f"{LARGE_SPLIT}::test_a_large_split_does_not_hold_up_its_own_worker[sqlite]",
    ),
    mutant(
        "a pause stops a split between chunks",
        Edit(CALLER, "call.work._stop.is_set))", "lambda: False))"),
        Edit(CALLER, "                one.new_items.remove()\n", ""),
        Edit(SPLITTING, "not stopped() and tx.settling.holds(claimed.id, claimed.lease)", "not stopped()"),
        test=f"{LARGE_SPLIT}::test_pause_stops_a_large_split_between_chunks_and_resume_does_it_again[sqlite]",
    ),
    mutant(
        "the sweep leaves living splits alone",
        Edit(ABANDONED, "and (split := split_of(draft.token)) and tx.settling.holds(*split)", "and False"),
        test=f"{LARGE_SPLIT}::test_the_sweep_leaves_a_split_alone_whose_lease_is_held",
    ),
    mutant(
        "the sweep keeps items that an older worker uses",
        Edit(ABANDONED, "    elif _is_entered(row, draft.stage):", "    elif False:"),
        test=f"{LARGE_SPLIT}::test_a_draft_of_a_stage_that_an_older_worker_has_entered_is_only_dropped",
    ),
    mutant(
        "a large copy in short transactions",
        Edit(ADVANCE, "tx.items.last_position(row.number, before.name) > COPY_CHUNK", "False"),
        test=f"{LARGE_COPY}::test_no_transaction_of_a_large_copy_writes_more_than_a_bounded_number_of_rows[sqlite]",
    ),
    mutant(
        "a copy in progress is left to the process that makes it",
        Edit(COPYING, "stale_seconds=None if free else STALE_SECONDS", "stale_seconds=None"),
        test=f"{LARGE_COPY}::test_a_copy_that_somebody_makes_just_now_is_left_to_them",
    ),
    mutant(
        "a copy ends when its task is steered",
        Edit(COPYING, "tx.tasks.lock(task) is not None and tx.events.last(task) == self.large.event", "True"),
        test=f"{LARGE_COPY}::test_what_is_redone_while_its_stage_is_copied_is_copied_anew",
    ),
    mutant(
        "no copy into a stage that the task has entered already",
        Edit(COPYING, "if tx.events.last(task) != self.large.event:", "if False:"),
        test=f"{LARGE_COPY}::test_a_copy_that_begins_after_the_task_moved_on_does_not_hide_its_items[sqlite]",
    ),
    mutant(
        "a large copy fits a merge that writes events of its own",
        Edit("fanfold/engine/tasks/steering/commands.py", "ahead, tx.events.last(row.number))", "ahead)"),
        test=f"{LARGE_COPY}::test_a_merge_without_held_items_copies_many_into_the_next_stage[sqlite]",
    ),
    mutant(
        "a large copy beside the turns",
        Edit("fanfold/engine/worker/loop.py", "large=large,", "large=None,"),
        test=f"{LARGE_COPY}::test_a_large_copy_does_not_hold_up_its_own_worker[sqlite]",
    ),
    mutant(
        "a complete copy belongs to one moment of its task",
        Edit(ADVANCE, 'draft.token == f"{COPIED}{event}"', "draft.token.startswith(COPIED)"),
        test=f"{LARGE_COPY}::test_a_complete_copy_is_made_again_when_the_task_was_steered_since",
    ),
)
