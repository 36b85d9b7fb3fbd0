"""Checks the options of a task before any work: on submit, on retry, and on upload before the file is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fanfold.engine.discovery import beside_service
from fanfold.engine.tasks.submitting.inputs import Upload
from fanfold.errors import BadInput, BadOption, BadPipeline, HandlerError
from fanfold.model.money.batch import DEADLINE, LANE, LANES, duration
from fanfold.model.pipelines.options import LOCAL, MODEL, PROVIDER, read_options
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.files import File


def check_options(pipeline: Pipeline, options: dict[str, Any]) -> None:
    """Check that the pipeline can use these options; BadInput says what is wrong.

    First each against its declaration, then the application's own rules about all of them.
    """
    options = _without_lane(options)
    check_declared(pipeline, options)
    if pipeline.check_options is None:
        return
    try:
        pipeline.check_options(options)
    except HandlerError as problem:
        raise BadInput(problem.message, code=problem.code) from None


def check_types(
    pipeline: Pipeline, options: Mapping[str, Any], metadata: Mapping[str, Any], inputs: Sequence[Any]
) -> None:
    """Check that the handlers can read what is submitted; BadInput names what they could not."""
    types = pipeline.kept_types
    if types.problem is not None:
        raise BadPipeline(f"The types of pipeline {pipeline.name} conflict. {types.problem}")
    types.check(serial.dump(metadata, "The metadata"), Any, "The metadata")
    for name, value in options.items():
        what = say("argument_named", name=name) if types.has_arguments else say("option_named", name=name)
        types.check(serial.dump(value, what), types.named(name), what)
    one = types.task_input if len(inputs) == 1 else Any
    for position, value in enumerate(inputs):
        if not isinstance(value, Path | Upload | File):
            types.check(
                serial.dump(value, "The input"), types.argument(position) if types.has_arguments else one, "The input"
            )


def _without_lane(options: dict[str, Any]) -> dict[str, Any]:
    """The options except those that every pipeline has, which are checked here."""
    if LANE in options and options[LANE] not in LANES:
        raise BadOption(say("no_lane", lane=str(options[LANE])[:100]), field=LANE)
    if options.get(DEADLINE) is not None:
        duration(options[DEADLINE])
    return {name: value for name, value in options.items() if name not in (LANE, DEADLINE)}


def check_declared(pipeline: Pipeline, options: dict[str, Any]) -> None:
    """Check each option against its declaration, and that named providers are known here; BadOption if not."""
    if not pipeline.declared:
        return
    values = read_options(pipeline.declared, options)
    kinds = {name: pipeline.declared[name].kind for name in options if values.get(name)}
    has_provider = any(kind == PROVIDER and values[name] != LOCAL for name, kind in kinds.items())
    for name, kind in kinds.items():
        # With a provider given, the model must be one of that provider's; each of several providers is checked separately.
        is_single = not pipeline.declared[name].many
        if kind not in (PROVIDER, MODEL) or (kind == MODEL and is_single and has_provider):
            continue
        objection = beside_service("ask", "unknown_provider" if kind == PROVIDER else "unknown_model")
        for value in (values[name],) if is_single else values[name]:
            if (reason := objection(value)) is not None:
                raise BadOption(reason, field=name)
