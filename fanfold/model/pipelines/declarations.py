"""What a pipeline declares beside its stages, for people who use it: its options, its words and the forms of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from fanfold.errors import BadPipeline
from fanfold.model.pipelines.actions import Action
from fanfold.model.pipelines.forms import Form
from fanfold.model.pipelines.options import Option, declared
from fanfold.model.pipelines.view_names import VIEWS
from fanfold.model.pipelines.vocabulary import Vocabulary

Function = TypeVar("Function", bound=Callable[..., Any])


class Declarations:
    """The declared part of a pipeline; command line, API and page are made from it."""

    name: str

    def __init__(
        self, options: Sequence[Option] | Mapping[str, str] | None, words: Vocabulary | None = None, view: str = ""
    ) -> None:
        if view and view not in VIEWS:
            raise BadPipeline(f"There is no view '{view}'. There are: {', '.join(VIEWS)}.")
        is_free = options is None or isinstance(options, Mapping)
        self.declared = {} if is_free else declared(cast("Sequence[Option]", options))
        """Its options by name, where it declares them: then there are no others."""
        known = options if is_free else {one.name: one.help for one in self.declared.values()}
        self.options = dict(cast("Mapping[str, str]", known or {}))
        """What its options mean, by name, for people who choose them."""
        self.words = words or Vocabulary()
        """What it calls the states of its tasks and items, and translations for the page."""
        self.view = view
        """How the page shows what its items make: one of ``VIEWS``, or by the shape of the output."""
        self.actions: dict[str, Action] = {}
        """Its actions, by name, in the order of their definition."""
        self.estimator: Callable[..., Any] | None = None
        """Tells which calls to models a task will make, before it is submitted."""
        self.forms: dict[str, Form] = {}
        """The forms of its result, by name, in the order of their definition."""

    def estimate(self, function: Function, /) -> Function:
        """A function that says what a task will ask: it gets an ``EstimateWork`` and yields ``ExpectedCall``s."""
        if self.estimator is not None:
            raise BadPipeline(f"Pipeline {self.name} has an estimate already.")
        self.estimator = function
        return function

    def form(self, name: str, *, media_type: str, label: str = "", ending: str = "") -> Callable[[Function], Function]:
        """A way in which the result can be had: the function gets a ``FormWork`` and returns text, bytes, a path or a file.

        ``label`` is what the download menu calls it, ``ending`` how its file's name ends (by default ``.NAME``).
        """

        def keep(function: Function) -> Function:
            if name in self.forms:
                raise BadPipeline(f"Pipeline {self.name} has a form '{name}' already.")
            self.forms[name] = Form(name, function, label or name, media_type, ending or f".{name}")
            return function

        return keep

    def action(
        self, name: str, *, label: str = "", help: str = "", options: Sequence[Option] = (), states: Sequence[str] = ()
    ) -> Callable[[Function], Function]:
        """An operation on a task: the function gets an ``ActionWork`` and may return a sentence about what it did.

        ``label`` stands on the button. ``states`` are those of a task in which it is offered; by default all.
        """

        def keep(function: Function) -> Function:
            if name in self.actions:
                raise BadPipeline(f"Pipeline {self.name} has an action '{name}' already.")
            self.actions[name] = Action.of(name, function, label, help, options, states)
            return function

        return keep
