"""What a pipeline declares besides its stages, for its users: its options, its words and the forms of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from fanfold.errors import BadPipeline
from fanfold.model.pipelines.actions import Action
from fanfold.model.pipelines.forms import Form
from fanfold.model.pipelines.options import Option, declared
from fanfold.model.pipelines.template_kinds import TemplateKind, declared_kinds
from fanfold.model.pipelines.view_names import VIEWS
from fanfold.model.pipelines.vocabulary import Vocabulary

Function = TypeVar("Function", bound=Callable[..., Any])


class Declarations:
    """The declared part of a pipeline, from which the command line, the API and the page are built."""

    name: str

    def __init__(
        self,
        options: Sequence[Option] | Mapping[str, str] | None,
        words: Vocabulary | None = None,
        view: str = "",
        templates: Sequence[TemplateKind] = (),
    ) -> None:
        if view and view not in VIEWS:
            raise BadPipeline(f"Unknown view '{view}'. Use one of: {', '.join(VIEWS)}.")
        is_free = options is None or isinstance(options, Mapping)
        self.declared = {} if is_free else declared(cast("Sequence[Option]", options))
        """Its options by name. If it declares any, no others are accepted."""
        known = options if is_free else {one.name: one.help for one in self.declared.values()}
        self.options = dict(cast("Mapping[str, str]", known or {}))
        """Help texts of its options, by name."""
        self.words = words or Vocabulary()
        """Its words for the states of its tasks and items, and their translations for the page."""
        self.view = view
        """How the page shows the output of its items: one of ``VIEWS``, or None to choose by the shape of the output."""
        self.template_kinds = declared_kinds(templates, self.declared)
        """The kinds of templates that its tasks can use, by name."""
        self.actions: dict[str, Action] = {}
        """Its actions by name, in the order of their definition."""
        self.estimator: Callable[..., Any] | None = None
        """Estimates which calls to models a task will make, before it is submitted."""
        self.pricer: Callable[..., Any] | None = None
        """Says what a task costs its owner, in credits."""
        self.item_maker: Callable[..., Any] | None = None
        """Makes the items of a task from the files that it is submitted with, if the first stage is an `each`."""
        self.unpacker: Callable[..., Any] | None = None
        """Replaces input files that contain others, if one of them has an ending of ``unpacked_endings``."""
        self.unpacked_endings: tuple[str, ...] = ()
        self.forms: dict[str, Form] = {}
        """The forms of its result by name, in the order of their definition."""

    def estimate(self, function: Function, /) -> Function:
        """Register a function that estimates the calls of a task: it gets an ``EstimateWork`` and yields ``ExpectedCall``s."""
        if self.estimator is not None:
            raise BadPipeline(f"Pipeline {self.name} already has an estimate.")
        self.estimator = function
        return function

    def price(self, function: Function, /) -> Function:
        """Register a function that says what a task costs its owner, in credits: it gets a ``PriceWork``.

        It returns a ``Price``, a whole number for the whole task, or a mapping from item keys to whole numbers. It runs at
        submit, in the process of the client and outside transactions. Nothing is charged unless the setting ``credits`` says
        so, and never for a task without an owner.
        """
        if self.pricer is not None:
            raise BadPipeline(f"Pipeline {self.name} already has a price.")
        self.pricer = function
        return function

    def items_from(self, function: Function, /) -> Function:
        """Register a function that makes the first items of a task from its inputs (files as ``File``) and options.

        It is for a pipeline that begins with `each`. It runs at submit, in the process of the client and outside transactions.
        All files of a submission are then one task.
        """
        if self.item_maker is not None:
            raise BadPipeline(f"Pipeline {self.name} already has a function for its items.")
        self.item_maker = function
        return function

    def unpack(self, *endings: str) -> Callable[[Function], Function]:
        """A function that replaces input files, for files that contain others: an archive, or a list of documents.

        It runs at submit, in the process of the client and outside transactions, if a file has one of these endings. It gets
        all inputs (files as paths) and a folder for new files, which is removed after submit, and returns the inputs of the
        task. ``Permanent`` rejects the submission.
        """

        def keep(function: Function) -> Function:
            if self.unpacker is not None:
                raise BadPipeline(f"Pipeline {self.name} has a function that unpacks files already.")
            self.unpacker, self.unpacked_endings = function, endings
            return function

        return keep

    def form(
        self, name: str, *, media_type: str, label: str = "", ending: str = "", partial: bool = False
    ) -> Callable[[Function], Function]:
        """Register a form of the result: the function gets a ``FormWork`` and returns text, bytes, a path or a file.

        ``label`` is its name in the download menu, ``ending`` the ending of its file name (by default ``.NAME``); a file of the
        task keeps its own name.
        A ``partial`` form is available while the task runs, from the results so far: it must not need ``work.result``.
        """

        def keep(function: Function) -> Function:
            if name in self.forms:
                raise BadPipeline(f"Pipeline {self.name} already has a form '{name}'.")
            self.forms[name] = Form(name, function, label or name, media_type, ending or f".{name}", partial)
            return function

        return keep

    def action(
        self, name: str, *, label: str = "", help: str = "", options: Sequence[Option] = (), states: Sequence[str] = ()
    ) -> Callable[[Function], Function]:
        """Register an operation on a task: the function gets an ``ActionWork`` and may return a sentence about what it did.

        ``label`` is the text of its button. ``states`` are the task states in which it is offered; by default all.
        """

        def keep(function: Function) -> Function:
            if name in self.actions:
                raise BadPipeline(f"Pipeline {self.name} already has an action '{name}'.")
            self.actions[name] = Action.of(name, function, label, help, options, states)
            return function

        return keep
