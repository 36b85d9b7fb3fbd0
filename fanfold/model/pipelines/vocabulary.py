"""An application's own words for the states of its tasks and items, with translations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fanfold.errors import BadPipeline
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.text.sentences import Catalogue

WORD_LENGTH = 40
BEYOND_STAGES = {
    "pending",
    "retrying",
    "compensating",
    *(state for state in TaskState if state is not TaskState.ACTIVE),
}
"""Words for tasks that do not come from a stage."""


@dataclass(frozen=True)
class Vocabulary:
    """An application's words for the states of its tasks and items. States that are not named keep their usual word.

    ``task`` and ``item`` map a usual word to the application's word. The usual words of a task are its states, `pending`,
    `retrying`, `compensating`, and the ``ready`` and ``doing`` words of its stages; those of an item are its states, for all
    stages (`waiting`) or for one (`render.waiting`). The phase
    of a task is the ``phase`` of the stage it is in, and ``done_phase`` when it is completed. ``languages`` translates words,
    labels and help texts for the page, by the code of a language: ``{"zh": {"queued": "排队中"}}``. ``sentences`` are the texts
    of errors and messages of handlers, each with a code, in English and in other languages.
    """

    task: Mapping[str, str] = field(default_factory=dict)
    item: Mapping[str, str] = field(default_factory=dict)
    done_phase: str = "done"
    languages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sentences: Catalogue | None = None

    def check(self, pipeline: str, of_stages: Iterable[str], stages: Iterable[str] = ()) -> None:
        """Raises BadPipeline if it renames a word that the pipeline never uses, or if a new word is empty."""
        for what, words, known in (
            ("task", self.task, {*BEYOND_STAGES, *of_stages}),
            ("item", self.item, {*ItemState, *(f"{stage}.{state}" for stage in stages for state in ItemState)}),
        ):
            unknown = sorted(set(words) - known)
            if unknown:
                raise BadPipeline(
                    f"The vocabulary of pipeline {pipeline} renames {', '.join(unknown)}, which is not a word of its {what}s. "
                    f"Use: {', '.join(sorted(known))}."
                )
            bad = [word for word in words.values() if not word.strip() or len(word) > WORD_LENGTH]
            if bad:
                raise BadPipeline(f"'{bad[0]}' cannot be a word for a state: give 1 to {WORD_LENGTH} characters.")
