"""Guards of new items: written in short transactions, hidden until they count, compared under their key."""

from tests.mutants.mutant import Edit, mutant

SUBMIT = "fanfold/engine/submit.py"
SPOOL = "fanfold/engine/spool.py"
READING = "fanfold/store/reading.py"
ABANDONED = "fanfold/engine/abandoned.py"
DRAFTS = "fanfold/store/drafts.py"

MUTANTS = (
    mutant(
        "a key compares the work",
        Edit(SUBMIT, "    if not same:\n", "    if False:\n"),
        test="engine/test_keys.py::test_other_items_under_a_key_are_refused[sqlite-fewer]",
    ),
    mutant(
        "the items in the fingerprint",
        Edit("fanfold/engine/inputs.py", 'digest.update(f"\\0items {items}".encode())', "pass"),
        test="engine/test_keys.py::test_other_items_under_a_key_are_refused[sqlite-more]",
    ),
    mutant(
        "the content of files in the fingerprint",
        Edit("fanfold/engine/inputs.py", "{_canonical(name)} {content}", "{_canonical(name)}"),
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
        Edit(SPOOL, "        self._check_positions()\n", ""),
        test="engine/test_large_submit.py::test_a_key_that_is_the_position_of_an_item_without_one_is_refused",
    ),
    mutant(
        "many items at submit in short transactions",
        Edit(SUBMIT, "if self.spool.fits_one_chunk else", "if True else"),
        test="engine/test_large_submit.py::test_no_transaction_of_a_large_submit_writes_more_than_a_bounded_number_of_rows[sqlite]",
    ),
    mutant(
        "counts leave drafts out",
        Edit(READING, "    .having(counts_in_group())\n", ""),
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
        "a fresh draft of somebody else is theirs",
        Edit(DRAFTS, "where=sa.or_(drafts.c.token == token, mine)", "where=sa.true()"),
        test="store/test_drafts.py::test_a_fresh_draft_of_somebody_else_is_left_to_them",
    ),
)
