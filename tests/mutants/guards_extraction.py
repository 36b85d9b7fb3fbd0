"""Guards of an extraction: what is asked again, what is never repaired, and what never looks like a good cell."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

REDOING, RECORDS, ANSWERS, JUDGING = (
    "fanfold/apps/extract/redoing.py",
    "fanfold/apps/extract/asking/records.py",
    "fanfold/apps/extract/asking/answers.py",
    "fanfold/apps/extract/asking/judging.py",
)
RULES, SUBMIT, REDO = (
    "fanfold/apps/extract/template/rules.py",
    "fanfold/engine/tasks/submitting/submit.py",
    "fanfold/engine/tasks/steering/redo.py",
)
ITEMS, FINDING = "fanfold/apps/extract/items.py", "fanfold/apps/extract/documents/finding.py"
ARCHIVES = "server/test_archives.py::"
CHANGING, ASKING, PIPELINE = (
    "apps/extract/test_changing.py::",
    "apps/extract/test_asking.py::",
    "apps/extract/test_pipeline.py::",
)
MUTANTS = (
    mutant(
        "a cell whose question is unchanged is not asked again",
        Edit(REDOING, "if prints[one.name] in aside and not _is_chosen(", "if not prints and not _is_chosen("),
        test=CHANGING + "test_an_added_column_is_the_only_thing_that_is_asked",
    ),
    mutant(
        "a column that was removed keeps its cells for when it comes back",
        Edit(
            REDOING,
            "    return Plan(ask, kept, rows, {mark: cell for mark, cell in aside.items() if mark not in current})\n",
            "    return Plan(ask, kept, rows, {mark: cell for mark, cell in aside.items() if not current})\n",
        ),
        test=CHANGING + "test_a_column_that_comes_back_is_not_paid_for_again",
    ),
    mutant(
        "a retry by a person asks everything again",
        Edit(REDOING, ' or redo.token == earlier.get("redo"):', ":"),
        test=CHANGING + "test_a_retry_by_a_person_asks_everything_about_the_document_again",
    ),
    mutant(
        "a field that an answer leaves out is not an absent value",
        Edit(JUDGING, "    if not said.is_answered:\n", "    if False:\n"),
        test=ASKING + "test_a_field_that_the_answer_leaves_out_is_asked_once_more_and_never_looks_absent",
    ),
    mutant(
        "a document without any answer fails",
        Edit(RECORDS, "        if not made.answered and made.problems and not keeps:\n", "        if False:\n"),
        test=PIPELINE + "test_a_document_about_which_no_model_answers_is_a_row_with_its_reason",
    ),
    mutant(
        "prose is not an answer",
        Edit(ANSWERS, "    if parsed(text)[0] is None:\n", "    if False:\n"),
        test=ASKING + "test_prose_is_not_an_answer[12]",
    ),
    mutant(
        "an uploaded manifest reads no file of the server",
        Edit(ITEMS, "folder=folder, beside=False)", "folder=folder)"),
        test=ARCHIVES + "test_an_uploaded_manifest_names_no_file_of_the_server[sqlite]",
    ),
    mutant(
        "a manifest in an archive reads no file outside of it",
        Edit(FINDING, "_described(inner, manifest, beside=False)", "_described(inner, manifest, beside=True)"),
        test=ARCHIVES + "test_an_uploaded_manifest_names_no_file_of_the_server[sqlite]",
    ),
    mutant(
        "odd rows of one item do not take the table from the others",
        Edit(ITEMS, 'if isinstance(row, dict) and row.get("name") and', "if"),
        test=PIPELINE + "test_an_odd_item_is_a_row_and_does_not_take_the_table_from_the_others[odd1]",
    ),
    mutant(
        "a second model that does not answer changes no cell",
        Edit("fanfold/apps/extract/pipeline.py", "second.fields.keys() - second.unanswered", "second.fields"),
        test=CHANGING + "test_a_second_model_that_does_not_answer_changes_no_cell_and_is_said",
    ),
    mutant(
        "a rule executes nothing",
        Edit(RULES, "        _check(tree, 0)\n", ""),
        test="apps/extract/test_template_values.py::test_a_rule_cannot_do_anything_but_compare[f(1) > 0]",
    ),
    mutant(
        "options of the task are checked before items are redone",
        Edit(REDO, "        check_options(pipeline, _with_task_options(row, redo.task_options))\n", "        pass\n"),
        test="engine/test_parts_kept.py::test_options_of_the_task_are_checked_before_anything_is_redone[sqlite]",
    ),
    mutant(
        "files that make no items make no task",
        Edit(SUBMIT, "        except HandlerError as problem:\n", "        except ZeroDivisionError as problem:\n"),
        test="engine/test_parts_kept.py::test_files_that_make_no_items_are_refused_and_nothing_is_kept[sqlite]",
    ),
)
