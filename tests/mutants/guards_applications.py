"""Guards of what applications declare: forms that are whole, actions in their states, words that exist."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

TEMPLATES, KEPT = "fanfold/engine/templates.py", "engine/test_templates.py::"
FORMS, ACTIONS = "fanfold/engine/make_form.py", "fanfold/engine/take_action.py"
RESULTS, VOCABULARY = "fanfold/server/api/results.py", "fanfold/model/pipelines/vocabulary.py"
FORMED, ACTED = "engine/test_forms.py::", "engine/test_actions.py::"
NAMED = "engine/test_vocabulary.py::"

CHANGES, LISTED = "fanfold/server/changes/change_index.py", "server/test_change_list.py::"
INSTALLED, BROUGHT = "fanfold/engine/installed.py", "cli/test_packages.py::"

MUTANTS = (
    mutant(
        "a built-in pipeline cannot be hidden by a package",
        Edit(
            INSTALLED, "key=lambda one: not one.target.startswith(OURS)", "key=lambda one: one.target.startswith(OURS)"
        ),
        test=f"{BROUGHT}test_a_name_that_two_packages_use_is_told_and_hides_neither",
    ),
    mutant(
        "a package that ends the process is skipped",
        Edit(INSTALLED, "    except BaseException as error:\n", "    except Exception as error:\n"),
        test=f"{BROUGHT}test_a_pipeline_that_ends_the_process_when_it_is_imported_is_told",
    ),
    mutant(
        "a command of an application cannot take the name of an existing command",
        Edit(INSTALLED, "if command.name in owners:", "if False:"),
        test=f"{BROUGHT}test_a_command_whose_name_is_taken_is_told_and_the_first_one_stays",
    ),
    mutant(
        "a form of a task that was changed meanwhile is not given",
        Edit(FORMS, "if not earlier and not is_partial and not is_same(", "if False and not is_same("),
        test=f"{FORMED}test_a_form_of_a_task_that_is_redone_meanwhile_is_not_given[sqlite]",
    ),
    mutant(
        "a task without a result has no forms",
        Edit(FORMS, "if task.state is not TaskState.COMPLETED and not earlier and not is_partial:", "if False:"),
        test=f"{FORMED}test_a_task_without_a_result_has_no_forms_of_it[sqlite]",
    ),
    mutant(
        "a form is removed after it was sent",
        Edit(RESULTS, "            self.made.close()\n", "            pass\n"),
        test="server/test_forms.py::test_a_result_is_sent_in_a_form_and_removed_afterwards[sqlite]",
    ),
    mutant(
        "an action is refused in a state that it does not declare",
        Edit(ACTIONS, "if task.state not in action.states:", "if False:"),
        test=f"{ACTED}test_an_action_is_refused_in_a_state_that_it_does_not_declare[sqlite]",
    ),
    mutant(
        "a failed action is recorded as an event",
        Edit(ACTIONS, "        _keep(client, number, say(", "        str(say("),
        test=f"{ACTED}test_a_failure_is_told_and_kept[sqlite]",
    ),
    mutant(
        "a vocabulary that renames a state the pipeline never has is refused",
        Edit(VOCABULARY, "            if unknown:\n", "            if False:\n"),
        test=f"{NAMED}test_words_for_what_never_is_are_refused[words0-renames splitting, which is not a word of its tasks]",
    ),
    mutant(
        "a form that needs the whole result is not made of a part of it",
        Edit(FORMS, "if is_partial and not forms[name].partial:", "if False:"),
        test=f"{FORMED}test_a_form_that_needs_the_whole_result_is_refused_while_the_task_runs[sqlite]",
    ),
    mutant(
        "a template with mistakes is not saved",
        Edit(TEMPLATES, "if problems := self.check(kind, json.loads(text)):", "if False:"),
        test=f"{KEPT}test_a_template_with_mistakes_is_refused_with_all_of_them_at_once[sqlite]",
    ),
    mutant(
        "an equal body makes no new version",
        Edit(TEMPLATES, 'if newest is not None and newest.body == row["body"]:', "if False:"),
        test=f"{KEPT}test_a_changed_body_is_a_new_version_and_an_equal_one_is_not[sqlite]",
    ),
    mutant(
        "the numbers of a deleted template are not used again",
        Edit("fanfold/store/rows/templates.py", "for table in (templates, template_uses)", "for table in (templates,)"),
        test=f"{KEPT}test_a_deleted_template_leaves_its_tasks_alone_and_its_numbers_are_not_used_again[sqlite]",
    ),
    mutant(
        "a person sees the tasks of their owner that used a template",
        Edit(TEMPLATES, "check_name(name), self._client.owner, limit)", "check_name(name), None, limit)"),
        test=f"{KEPT}test_a_person_sees_only_the_tasks_of_their_owner[sqlite]",
    ),
    mutant(
        "a view of a table reads a bounded number of outputs",
        Edit("fanfold/server/tables/item_index.py", "if time.monotonic() >= end:", "if False:"),
        test="server/test_table.py::test_a_look_reads_a_bounded_number_of_outputs_and_the_next_goes_on[sqlite]",
    ),
    mutant(
        "a list of changes stays the same while somebody decides",
        Edit(CHANGES, "moment = as_of if as_of is not None else self._last_decision", "moment = self._last_decision"),
        test=f"{LISTED}test_a_list_filtered_by_state_stays_the_same_while_decisions_are_made[sqlite]",
    ),
    mutant(
        "all changes are decided about only when every output was read",
        Edit("fanfold/server/changes/change_windows.py", "index.look(math.inf)", "index.look(0)"),
        test=f"{LISTED}test_many_decisions_wait_until_every_output_is_read[sqlite]",
    ),
    mutant(
        "a person who may only look decides about no changes",
        Edit(
            "fanfold/server/web/changes/changes_page.py",
            "client: Looking, _access: Changing,",
            "client: Looking, _access: Asking,",
        ),
        test=f"{LISTED}test_the_changes_of_other_owners_are_not_found_and_a_viewer_decides_nothing[sqlite]",
    ),
    mutant(
        "changes that overlap are left out of the list",
        Edit("fanfold/model/views/changes.py", 'one["start"] >= at and', 'one["start"] >= 0 and'),
        test=f"{LISTED}test_a_head_begins_another_chapter_and_overlapping_changes_are_left_out",
    ),
)
