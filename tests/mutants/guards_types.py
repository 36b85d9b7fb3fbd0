"""Guards of typed values: nothing is taken for a type that it is not, and nothing unreadable reaches a handler."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

SERIAL, DECODING = "fanfold/model/values/serial.py", "fanfold/model/values/decoding.py"
CALL, CHILD = "fanfold/engine/worker/attempt/call.py", "fanfold/engine/worker/processes/child.py"
SUBMIT, REDO = "fanfold/engine/tasks/submitting/submit.py", "fanfold/engine/tasks/steering/redo.py"
CHECKS = "fanfold/model/pipelines/handler_checks.py"
CODECS, TYPED = "model/test_codecs.py", "engine/test_typed_values.py"

MUTANTS = (
    mutant(
        "a mapping that looks like a typed value stays a mapping",
        Edit(SERIAL, "or not any(map(_has_tag_shape, parts)):", "or True:"),
        test="server/test_typed_api.py::test_a_stranger_cannot_name_a_type[sqlite]",
    ),
    mutant(
        "a handler gets no value of a type that is not known",
        Edit(DECODING, "        if self._reading.refuses_unknown:\n", "        if False:\n"),
        test=f"{CODECS}::test_a_type_that_is_not_known_is_refused_or_stays_json",
    ),
    mutant(
        "a field that was removed from a class is not dropped silently",
        Edit(DECODING, "            if name not in known:\n", "            if False:\n"),
        test=f"{CODECS}::test_a_shape_that_changed_is_an_error_that_names_the_field_and_the_way_out",
    ),
    mutant(
        "a typed input is read before the handler runs",
        Edit(CALL, "            work._read_input()\n", "            pass\n"),
        test=f"{TYPED}::test_an_item_whose_class_has_changed_is_held_and_goes_on_when_the_code_fits_again[sqlite]",
    ),
    mutant(
        "an input that no handler can read is refused at submit",
        Edit(SUBMIT, "        types.check(text, types.input(self.plan.stages[0].name), what)\n", "        return\n"),
        test=f"{TYPED}::test_an_input_that_no_handler_could_read_is_refused_at_submit[sqlite]",
    ),
    mutant(
        "a handler that returns a type that cannot be stored is refused at definition",
        Edit(CHECKS, "    if kind is not None:\n", "    if False:\n"),
        test=f"{CODECS}::test_a_handler_that_returns_what_cannot_be_kept_is_refused_at_definition",
    ),
    mutant(
        "a child process knows the types of the whole pipeline",
        Edit(
            CHILD, "            return found\n    pipeline = (Function", "            break\n    pipeline = (Function"
        ),
        test=f"{TYPED}::test_types_come_back_in_child_processes[sqlite]",
    ),
    mutant(
        "typed options stay typed when a retry changes others",
        Edit(REDO, "serial.load(row.options, reading=AS_KEPT)", "serial.load(row.options)"),
        test=f"{TYPED}::test_typed_options_stay_typed_when_a_retry_lays_others_over_them[sqlite]",
    ),
)
