"""Gates that ask: a stage's gate may declare typed options, and the task continues only with an answer that fits them.

The declaration is stored with the task as plain data, so any process can show the form and check an answer, without the code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fanfold.errors import BadInput, BadOption, BadPipeline
from fanfold.model.pipelines.options import FLAG, NUMBER, SECRET, Option, declared, read_options
from fanfold.model.text.sentences import say
from fanfold.model.values import serial

STORED = (
    "name",
    "kind",
    "help",
    "default",
    "label",
    "choices",
    "at_least",
    "at_most",
    "many",
    "order",
    "group",
    "unit",
)
"""Fields of an option that are plain data."""
ANSWER_BYTES = 100_000


class Gate:
    """A gate before a stage, with the options that a person answers: ``@p.step(gate=Gate(Option("tone", …)))``.

    An option without a default must be answered. A gate without options only waits.
    """

    def __init__(self, *options: Option) -> None:
        for option in options:
            if not isinstance(option, Option):
                raise BadPipeline(f"A gate asks with options, and {option!r} is none. Make one with fanfold.Option(…).")
            if option.kind == SECRET or option.check is not None or option.hidden:
                raise BadPipeline(
                    f"The option {option.name} of a gate cannot be secret or hidden, and cannot have `check`: "
                    "what a gate asks is stored as plain data."
                )
        self.options = declared(options)

    def stored(self) -> str:
        """What it asks, as stored in a task's plan."""
        asked = [{name: getattr(option, name) for name in STORED} for option in self.options.values()]
        return json.dumps(asked, separators=(",", ":")) if asked else ""


def asked_by(stored: str) -> dict[str, Option]:
    """The options of a stored gate, by name."""
    if not stored:
        return {}
    known = set(STORED)
    found = ({name: value for name, value in one.items() if name in known} for one in json.loads(stored))
    return declared(
        Option(**one | {"choices": tuple(one.get("choices", ())), "default": _listed(one)}) for one in found
    )


def _listed(one: Mapping[str, Any]) -> Any:
    """The default as it was declared: JSON has no tuples."""
    default = one.get("default")
    return tuple(default) if one.get("many") and isinstance(default, list) else default


def must_be_answered(stored: str) -> list[str]:
    """The names of the options that have no default."""
    return [name for name, option in asked_by(stored).items() if option.default is None]


def checked_answer(stored: str, stage: str, answer: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values of all options of a gate; BadInput or BadOption if one is missing, unknown or not allowed."""
    if answer is not None and not isinstance(answer, Mapping):
        raise BadInput(say("not_dict", name="answer", value=repr(answer)[:200]))
    given = {name: value for name, value in (answer or {}).items() if value is not None}
    options = asked_by(stored)
    missing = [name for name in must_be_answered(stored) if _is_empty(options[name], given.get(name))]
    if missing:
        raise BadOption(say("gate_unanswered", stage=stage, names=missing), field=missing[0], code="answer_needed")
    found = read_options(options, given)
    serial.dump(found, "The answer", ANSWER_BYTES)
    return found


def _is_empty(option: Option, value: Any) -> bool:
    """Whether an answer is missing. An empty field of a form is not an answer, except to a question for yes or no."""
    return value is None or (option.kind not in (FLAG, NUMBER) and value in ("", [], ()))


def defaults(stored: str) -> dict[str, Any]:
    """The values of a gate that was passed without an answer; None where there is no default."""
    return {name: option.default for name, option in asked_by(stored).items()}
