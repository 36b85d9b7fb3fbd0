"""The kinds of templates that a pipeline takes, and the check of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanfold.errors import BadPipeline
from fanfold.model.pipelines.forms import NAME


@dataclass(frozen=True)
class TemplateKind:
    """A kind of template, declared with ``ff.Pipeline(templates=[…])``.

    ``check`` gets the body of a template (any JSON value) and returns a sentence for each mistake; a template with mistakes is
    not saved. ``option`` is the option of the pipeline that takes a template: when a task is submitted and the option names a
    saved one (`name`, `name@2`), the body takes its place, as text, and the task is listed among those that used it.
    """

    name: str
    label: str = ""
    help: str = ""
    check: Callable[[Any], Iterable[str]] | None = None
    option: str = ""
    example: str = ""
    """What the page shows in an empty editor."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise BadPipeline(
                f"'{self.name}' cannot name a kind of template: use lower-case letters, digits, - and _, starting with a letter."
            )

    @property
    def title(self) -> str:
        """What the page calls it."""
        return self.label or self.name.replace("_", " ").capitalize()


def declared_kinds(kinds: Sequence[TemplateKind], options: Mapping[str, Any]) -> dict[str, TemplateKind]:
    """Kinds by name; BadPipeline when a name occurs twice, or for an option that the pipeline does not have."""
    found: dict[str, TemplateKind] = {}
    for kind in kinds:
        if not isinstance(kind, TemplateKind):
            raise BadPipeline(f"`templates` has {kind!r:.100}, which is not an ff.TemplateKind.")
        if kind.name in found:
            raise BadPipeline(f"The kind of template {kind.name} is declared twice.")
        if kind.option and options and kind.option not in options:
            raise BadPipeline(
                f"Templates of kind {kind.name} belong to the option {kind.option}, which is not declared."
            )
        found[kind.name] = kind
    return found
