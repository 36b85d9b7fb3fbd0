"""Guards of declared options and secrets: checked before anything is begun, and a secret is stored nowhere."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

OPTIONS, SUBMIT = "fanfold/model/pipelines/options.py", "fanfold/engine/tasks/submitting/submit.py"
CHECKS = "fanfold/engine/tasks/submitting/option_checks.py"
UNLOCKING, REDOING = "fanfold/engine/tasks/submitting/unlock.py", "fanfold/engine/tasks/steering/redo.py"
UPLOADING, SUBMITTING = "fanfold/server/api/uploading.py", "fanfold/server/api/submitting.py"
DECLARED, SECRETS = "model/test_options.py::", "engine/test_unlocking.py::"
SERVED = "server/test_options.py::"

MUTANTS = (
    mutant(
        "an option that is not declared is refused",
        Edit(OPTIONS, "    if unknown:\n", "    if False:\n"),
        test=f"{DECLARED}test_a_value_that_cannot_be_used_is_refused_with_its_name",
    ),
    mutant(
        "an unknown provider is refused where it is named",
        Edit(CHECKS, "if (reason := objection(value)) is not None:", "if False:"),
        test=f"{SERVED}test_an_unknown_provider_is_refused_where_it_is_asked_for[sqlite-options0]",
    ),
    mutant(
        "declared options are checked before anything is begun",
        Edit(CHECKS, "    check_declared(pipeline, options)\n", ""),
        test=f"{SECRETS}test_options_are_checked_before_anything_is_begun[sqlite]",
    ),
    mutant(
        "a value of a secret is not quoted",
        Edit(OPTIONS, "_shown(given) if self.kind != SECRET else", "_shown(given) if True else"),
        test=f"{DECLARED}test_a_long_value_is_not_quoted_in_full_and_a_secret_never",
    ),
    mutant(
        "a secret is not stored with the options of a task",
        Edit(UNLOCKING, "{name: plain.pop(name) for", "{name: plain[name] for"),
        test=f"{SECRETS}test_a_file_with_its_password_is_kept_unlocked_and_the_password_nowhere[sqlite-path]",
    ),
    mutant(
        "a secret for a pipeline that is not known is refused",
        Edit(UNLOCKING, "if pipeline is None and (", "if pipeline is None and () and ("),
        test=f"{SERVED}test_a_password_for_a_pipeline_that_is_not_known_is_refused_and_not_stored[sqlite]",
    ),
    mutant(
        "the child that unlocks a file is killed when it hangs",
        Edit(UNLOCKING, "    patience.start()\n", ""),
        test=f"{SECRETS}test_code_that_hangs_or_quotes_the_password_is_refused_without_it[sqlite-slow-cannot be opened here]",
    ),
    mutant(
        "what an application says of a secret is not passed on",
        Edit(UNLOCKING, "why=type(error).__name__", 'why=f"{error} RuntimeError"'),
        test=f"{SECRETS}test_code_that_hangs_or_quotes_the_password_is_refused_without_it[sqlite-odd-RuntimeError]",
    ),
    mutant(
        "a copy that the task has taken is not removed",
        Edit(UNLOCKING, "for key in keys if key not in named", "for key in keys"),
        test=f"{SECRETS}test_a_copy_that_the_task_has_taken_survives_an_error_behind_the_commit[sqlite]",
    ),
    mutant(
        "a new input is a new generation",
        Edit(REDOING, "or redo.inputs is not None or ", "or "),
        test=f"{SECRETS}test_a_worker_that_knows_the_task_takes_the_unlocked_copy[sqlite]",
    ),
    mutant(
        "other options of a task are a new generation",
        Edit(REDOING, ' or "options" in values:', ":"),
        test="engine/test_commands.py::test_other_options_for_the_first_step_reach_a_worker_that_knows_the_task[sqlite]",
    ),
    mutant(
        "other options for the first step are the task's own",
        Edit(REDOING, "    values |= changed\n", ""),
        test="engine/test_commands.py::test_other_options_for_the_first_step_are_the_tasks_own[sqlite]",
    ),
    mutant(
        "a password has no effect behind the first stage",
        Edit(REDOING, "if stage != row.plan.stages[0].name:", "if False:"),
        test=f"{SECRETS}test_a_retry_that_is_refused_leaves_no_copy[sqlite]",
    ),
    mutant(
        "the fingerprint is of the file that was given",
        Edit(SUBMIT, "described if is_same else None", "described"),
        test=f"{SECRETS}test_the_same_key_finds_the_task_of_the_same_locked_file[sqlite]",
    ),
    mutant(
        "wrong options are refused before the file is read",
        Edit(UPLOADING, '            self._check(said["pipeline"], options)\n', "            pass\n"),
        test=f"{SERVED}test_a_wrong_option_is_refused_before_the_file_is_read[sqlite]",
    ),
    mutant(
        "a field that is not JSON is not quoted",
        Edit(
            SUBMITTING,
            'BadInput(say("field_not_json", name=name))',
            'BadInput(say("field_not_json", name=name + text))',
        ),
        test=f"{SERVED}test_what_is_no_json_is_not_quoted_as_a_password_may_be_in_it[sqlite]",
    ),
    mutant(
        "a database that others could read is tightened",
        Edit("fanfold/store/files/private.py", "            tighten(one)\n", "            pass\n"),
        test="store/test_private.py::test_a_database_that_others_could_read_is_tightened_when_it_is_opened",
    ),
)
