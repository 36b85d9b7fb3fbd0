"""Guards of proofreading: no text is lost, and no answer is taken for a paragraph that it does not belong to."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ROOM, TESTS = "fanfold/apps/proofread", "apps/proofread"

MUTANTS = (
    mutant(
        "a changed text of a picture does not overwrite the paragraph around it",
        Edit(f"{ROOM}/formats/segments.py", "while after < len(changes) and", "while False and"),
        test=f"{TESTS}/test_epub.py::test_texts_of_pictures_inside_a_changed_paragraph_are_changed_in_their_place",
    ),
    mutant(
        "format mode compares every letter and digit",
        Edit(f"{ROOM}/checks/letters.py", "    if wanted == found:", "    if len(wanted) == len(found):"),
        test=f"{TESTS}/test_checks.py::test_every_fault_of_format_mode_is_found",
    ),
    mutant(
        "an answer that may be renumbered gives no paragraph",
        Edit(f"{ROOM}/asking/protocol.py", "    if unknown or known[-1] in missing:", "    if unknown:"),
        test=f"{TESTS}/test_protocol.py::test_an_answer_that_may_be_numbered_anew_is_asked_for_again_as_a_whole",
    ),
    mutant(
        "the neighbours of a missing paragraph are asked for again",
        Edit(f"{ROOM}/asking/protocol.py", "for near in (number - 1, number, number + 1)}", "for near in (number,)}"),
        test=f"{TESTS}/test_protocol.py::test_merged_paragraphs_and_their_neighbours_are_asked_for_again",
    ),
    mutant(
        "a ladder ends in a visible gap",
        Edit(
            f"{ROOM}/asking/ladder.py",
            "    return Step(again, Rung.GAP, step.model, told)",
            "    return Step((), Rung.GAP, step.model, told)",
        ),
        test=f"{TESTS}/test_protocol.py::test_the_ladder_ends_with_every_part_answered_or_in_a_gap_once",
    ),
    mutant(
        "a book is written only from the file that was read",
        Edit(f"{ROOM}/formats/__init__.py", "    if source.digest != book.digest:", "    if False:"),
        test=f"{TESTS}/test_text_files.py::test_a_book_is_not_written_from_a_file_that_has_changed",
    ),
    mutant(
        "a text with other markers than its source is not written",
        Edit(
            f"{ROOM}/formats/segments.py",
            "    if sorted(keys) != sorted(by_key):",
            "    if not set(keys) <= set(by_key):",
        ),
        test=f"{TESTS}/test_epub.py::test_a_text_with_other_markers_is_not_written",
    ),
    mutant(
        "unchanged characters keep their spelling in markup",
        Edit(f"{ROOM}/formats/segments.py", '"" if replaced else unit.raw', '"" if replaced else unit.shown'),
        test=f"{TESTS}/test_epub.py::test_only_the_changed_characters_differ",
    ),
    mutant(
        "an archive that unpacks to far more than a book is not opened",
        Edit(f"{ROOM}/formats/archive.py", " or any(map(_is_bomb, infos))", ""),
        test=f"{TESTS}/test_epub.py::test_a_bomb_is_not_opened",
    ),
    mutant(
        "chunks without a block are refused",
        Edit(f"{ROOM}/chunks.py", "    if list(together) != list(wanted) or together != wanted:", "    if False:"),
        test=f"{TESTS}/test_chunks.py::test_missing_blocks_are_noticed",
    ),
    mutant(
        "the key of a change is made from its content",
        Edit(f"{ROOM}/changes/listing.py", "[digests[pair.source], span.start, span.end, span.after]", "[pair.block]"),
        test=f"{TESTS}/test_changes.py::test_decisions_survive_a_redo_that_yields_the_same_change",
    ),
    mutant(
        "a redo of a degraded chunk keeps its good paragraphs",
        Edit(
            f"{ROOM}/stages/processing.py",
            "    return good if any(name not in good for name in asked) and good else {}",
            "    return {}",
        ),
        test=f"{TESTS}/test_pipeline.py::test_a_redo_of_a_degraded_chunk_asks_only_about_its_gaps",
    ),
    mutant(
        "decisions that tear formatting apart are not applied",
        Edit(
            f"{ROOM}/stages/paragraphs.py",
            "    return (before, False) if torn else (text, True)",
            "    return text, True",
        ),
        test=f"{TESTS}/test_deciding.py::test_decisions_that_would_tear_formatting_apart_keep_the_source",
    ),
    mutant(
        "a repeated paragraph is asked about without its surroundings",
        Edit(
            f"{ROOM}/asking/inquiry.py",
            "        is_alone = len(step.parts) == 1 and step.parts[0] in alone",
            "        is_alone = False",
        ),
        test=f"{TESTS}/test_pipeline.py::test_a_paragraph_that_occurs_often_is_paid_for_once",
    ),
    mutant(
        "an answer with wrong numbers is divided only if letters are identical",
        Edit(
            f"{ROOM}/asking/alignment.py", '    if letters("".join(sources)) != letters(answer):', "    if not answer:"
        ),
        test=f"{TESTS}/test_faulty_book.py",
    ),
    mutant(
        "a chunk that no service answered keeps its source",
        Edit(
            f"{ROOM}/stages/merging.py",
            '[(one.get("block", one["id"]), one.get("ruled", one["before"])) for one in given["entries"]]',
            '[(one.get("block", one["id"]), "") for one in given["entries"]]',
        ),
        test=f"{TESTS}/test_pipeline.py::test_a_service_that_fails_is_an_error_of_the_chunk_and_the_others_are_kept",
    ),
)
