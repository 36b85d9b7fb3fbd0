"""Guards of what applications declare: forms that are whole, actions in their states, words that exist."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

FORMS, ACTIONS = "fanfold/engine/make_form.py", "fanfold/engine/take_action.py"
RESULTS, VOCABULARY = "fanfold/server/api/results.py", "fanfold/model/pipelines/vocabulary.py"
FORMED, ACTED = "engine/test_forms.py::", "engine/test_actions.py::"
NAMED = "engine/test_vocabulary.py::"

INSTALLED, BROUGHT = "fanfold/engine/installed.py", "cli/test_packages.py::"

MUTANTS = (
    mutant(
        "a pipeline of the box cannot be hidden by a package",
        Edit(INSTALLED, "key=lambda one: (not one.target.startswith(OURS), one.name", "key=lambda one: (one.name"),
        test=f"{BROUGHT}test_a_name_that_two_packages_use_is_told_and_hides_neither",
    ),
    mutant(
        "a package that ends the process is passed over",
        Edit(INSTALLED, "    except BaseException as error:\n", "    except Exception as error:\n"),
        test=f"{BROUGHT}test_a_pipeline_that_ends_the_process_when_it_is_imported_is_told",
    ),
    mutant(
        "a command of an application cannot take the name of another one",
        Edit(INSTALLED, "if command.name in owners:", "if False:"),
        test=f"{BROUGHT}test_a_command_whose_name_is_taken_is_told_and_the_first_one_stays",
    ),
    mutant(
        "a form of a task that was changed meanwhile is not given",
        Edit(FORMS, "if not earlier and not is_same(", "if False and not is_same("),
        test=f"{FORMED}test_a_form_of_a_task_that_is_redone_meanwhile_is_not_given[sqlite]",
    ),
    mutant(
        "a task without a result has no forms of it",
        Edit(FORMS, "if task.state is not TaskState.COMPLETED and not earlier:", "if False:"),
        test=f"{FORMED}test_a_task_without_a_result_has_no_forms_of_it[sqlite]",
    ),
    mutant(
        "a form is removed when it was sent",
        Edit(RESULTS, "            self.made.close()\n", "            pass\n"),
        test="server/test_forms.py::test_a_result_is_sent_in_a_form_and_removed_afterwards[sqlite]",
    ),
    mutant(
        "an action is refused in a state that it does not declare",
        Edit(ACTIONS, "if task.state not in action.states:", "if False:"),
        test=f"{ACTED}test_an_action_is_refused_in_a_state_that_it_does_not_declare[sqlite]",
    ),
    mutant(
        "an action that fails is kept as an event",
        Edit(ACTIONS, "        _keep(client, number, say(", "        str(say("),
        test=f"{ACTED}test_a_failure_is_told_and_kept[sqlite]",
    ),
    mutant(
        "words for what never is are refused",
        Edit(VOCABULARY, "            if unknown:\n", "            if False:\n"),
        test=f"{NAMED}test_words_for_what_never_is_are_refused[words0-rename splitting, which no task of it is called]",
    ),
)
