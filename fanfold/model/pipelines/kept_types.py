"""The types of a pipeline's inputs and outputs: from the annotations of its handlers, and from ``types=``.

Stored values name their types, and only these types and registered ones are ever created from them.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from fanfold.errors import BadInput, Unreadable
from fanfold.model.item import Later
from fanfold.model.plan import Kind
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.annotations import arguments_of, bare, classes_in, is_plain, members
from fanfold.model.values.codecs import TYPE_MARK, codec_named, codec_of
from fanfold.model.values.decoding import Reading

if TYPE_CHECKING:
    from fanfold.model.pipelines.pipeline import Stage


class KeptTypes:
    """What is known about the values of one pipeline."""

    def __init__(
        self,
        stages: Sequence[Stage] = (),
        declared: Sequence[type[Any]] = (),
        has_arguments: bool = False,
    ) -> None:
        self.problem: str | None = None
        """Why these types conflict. A worker continues anyway; `submit` refuses."""
        self.has_arguments = has_arguments
        """Whether the handler is a function that gets the submitted arguments."""
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self.task_input: Any = Any
        """The type of a task's single input."""
        self._named: dict[str, Any] = {}
        self._positional: list[Any] = []
        self._rest: Any = Any
        named: list[Any] = [*declared]
        given: Any = Any
        for stage in stages:
            hints = resolved(stage.handler)
            named.extend(hints.values())
            given = self._learn(stage, hints, given)
        known = self._by_name(kind for hint in named for kind in classes_in(hint))
        self.reading = Reading(known, refuses_unknown=True)
        """For handlers: a value of an unknown type must not be taken for another one."""
        self.lenient = Reading(known)
        """For programs that only look: values of unknown types are returned as stored JSON."""
        self._strict = Reading(known, refuses_unknown=True, strict=True)

    def _learn(self, stage: Stage, hints: dict[str, Any], given: Any) -> Any:
        """Record the types of one stage; returns the type of the items for the next stage."""
        names = list(_parameters(stage.handler))
        argument, returned = hints.get(names[0], Any) if names else Any, hints.get("return", Any)
        if stage.batch is not None:
            argument, returned = listed(argument), listed(returned)
        first = _roles(argument)
        made = without_later(returned)
        if stage.kind is Kind.EACH:
            made = (
                self._agreed(stage, made, first.get("output", Any)) if "return" in hints else first.get("output", Any)
            )
            self._inputs[stage.name] = first.get("input", given)
        elif "input" in first:
            self.task_input = first["input"]
        if stage.kind is Kind.MERGE and len(names) > 1:
            self._fill_in(_roles(hints.get(names[1], Any)))
        yields_pieces = _yields(stage.handler) and stage.batch is None
        self._outputs[stage.name] = Any if stage.kind is Kind.SPLIT or yields_pieces else made
        if self.has_arguments:
            self._learn_arguments(stage.handler, hints)
        return _yielded(hints.get("return", Any)) if stage.kind is Kind.SPLIT else made

    def _agreed(self, stage: Stage, returned: Any, said: Any) -> Any:
        """The return type of a handler, if its annotations do not contradict each other."""
        if Any not in (returned, said) and returned != said and not _yields(stage.handler):
            self.problem = (
                f"Stage {stage.name} has an item with the output {_shown(said)} and returns {_shown(returned)}. "
                "Write the same type in both places, or leave it out of ItemWork[…]."
            )
        return returned

    def _by_name(self, kinds: Iterable[type[Any]]) -> dict[str, type[Any]]:
        found: dict[str, type[Any]] = {}
        for kind in kinds:
            codec = codec_of(kind)
            if codec is None or codec_named(codec.name) is codec:
                continue
            other = found.setdefault(codec.name, kind)
            if other is not kind:
                self.problem = (
                    f"Two of its types are named {codec.name}: {other.__module__} and {kind.__module__} have one. "
                    "Give one of them another name with fanfold.register_codec(…, name=…)."
                )
        return found

    def _learn_arguments(self, function: Callable[..., Any], hints: dict[str, Any]) -> None:
        for position, (name, parameter) in enumerate(_parameters(function).items()):
            if parameter.kind is parameter.VAR_POSITIONAL:
                self._rest = hints.get(name, Any)
            elif parameter.kind is not parameter.VAR_KEYWORD and not (position == 0 and name == "task"):
                self._named[name] = hints.get(name, Any)
                if parameter.kind is not parameter.KEYWORD_ONLY:
                    self._positional.append(self._named[name])

    def _fill_in(self, results: dict[str, Any]) -> None:
        """What a merge's annotation says about the results before it, where their own handler says nothing."""
        for name in reversed(self._inputs):
            if self._outputs.get(name, Any) is Any:
                self._outputs[name] = results.get("output", Any)
            if self._inputs[name] is Any:
                self._inputs[name] = results.get("input", Any)
            return

    def input(self, stage: str) -> Any:
        """The type of an item's input, as far as annotations say."""
        return self._inputs.get(stage, Any)

    def output(self, stage: str) -> Any:
        """The output type of a stage."""
        return self._outputs.get(stage, Any)

    def argument(self, position: int) -> Any:
        """The type of a function's argument at this position."""
        return self._positional[position] if position < len(self._positional) else self._rest

    def named(self, name: str) -> Any:
        """The type of a function's argument with this name."""
        return self._named.get(name, Any)

    def makes(self, text: str | None, stage: str) -> bool:
        """Whether the input of an item is more than plain JSON."""
        return text is not None and (TYPE_MARK in text or not is_plain(self.input(stage)))

    def check(self, text: str | None, hint: Any, what: str | Callable[[], str]) -> None:
        """BadInput if the handler that needs a value could not read it once it is stored."""
        if text is None or (is_plain(hint) and TYPE_MARK not in text):
            return
        try:
            serial.load(text, reading=self._strict, hint=hint)
        except Unreadable as problem:
            raise BadInput(
                say("does_not_fit", what=what if isinstance(what, str) else what(), why=problem.message),
                code="bad_value",
            ) from problem


def resolved(handler: Callable[..., Any], only: str | None = None) -> dict[str, Any]:
    """The annotations of a handler by parameter, without those that only a type checker can resolve."""
    function = inspect.unwrap(handler)
    scope = getattr(function, "__globals__", {})
    found: dict[str, Any] = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        if only is not None and name != only:
            continue
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            found |= typing.get_type_hints(holder, scope, scope)
        except Exception:  # An annotation is code: it may raise anything.
            continue
    return found


def listed(hint: Any) -> Any:
    """The type of one result or item of a batch handler, from the annotation of the list."""
    arguments = arguments_of(hint)
    return arguments[0] if arguments else Any


def without_later(hint: Any) -> Any:
    """The final return type of a handler, without what stands for no result: `later` and exceptions in a list."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    kept = [choice for choice in members(hint) if choice is not Later and not _is_error(choice)]
    return reduce(or_, kept) if kept and all(isinstance(one, type) for one in kept) else typing.Union[tuple(kept)]  # noqa: UP007


def _is_error(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseException)


def _shown(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)


def _parameters(handler: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(handler).parameters
    except ValueError:  # Some functions written in C do not report their parameters.
        return {}


def _roles(hint: Any) -> dict[str, Any]:
    """The type arguments of `ItemWork[…]`, `TaskWork[…]`, `Results[…]` and `NewItem[…]`."""
    roles = getattr(typing.get_origin(hint), "kept_types", ())
    return {role: kind for role, kind in zip(roles, arguments_of(hint), strict=False) if kind is not Any}


def _yielded(hint: Any) -> Any:
    """The item type of a split, from the annotation of what it yields."""
    arguments = arguments_of(hint)
    if not arguments:
        return Any
    new_item = bare(arguments[0])
    if "kept_types" in vars(typing.get_origin(new_item) or new_item):
        return _roles(new_item).get("input", Any)
    return new_item


def _yields(handler: Callable[..., Any]) -> bool:
    return inspect.isasyncgenfunction(handler) or inspect.isgeneratorfunction(handler)


NO_TYPES = KeptTypes()
"""For a pipeline whose code is not known."""
