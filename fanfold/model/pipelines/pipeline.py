"""Pipelines: named stages with their handlers and rules, in the order of their definition."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, overload

from fanfold.errors import BadPipeline
from fanfold.model.money.batch import LANES
from fanfold.model.pipelines.alone import Alone
from fanfold.model.pipelines.declarations import Declarations
from fanfold.model.pipelines.gates import Gate
from fanfold.model.pipelines.handler_checks import (
    ARGUMENT,
    check_batch,
    check_declared_types,
    check_output,
    check_parameters,
    check_resources,
)
from fanfold.model.pipelines.kept_types import KeptTypes
from fanfold.model.pipelines.options import Option
from fanfold.model.pipelines.rules import PLANNED_RULES, RUN_RULES, MergeHandler, StageRules, TaskHandler
from fanfold.model.pipelines.template_kinds import TemplateKind
from fanfold.model.pipelines.vocabulary import Vocabulary
from fanfold.model.plan import ON_CANCELLED, ON_FAILED, Kind, Plan, PlannedStage
from fanfold.model.retry import Retry

Handler = TypeVar("Handler", bound=Callable[..., Any])
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}", re.IGNORECASE)


@dataclass(frozen=True)
class Stage:
    """One stage: its handler and how it is run. The part other processes must know is ``planned``."""

    planned: PlannedStage
    handler: Callable[..., Any]
    retry: Retry = field(default_factory=Retry)
    timeout: float | None = 120.0
    concurrency: int | None = None
    limit: int | None = None
    batch: int | None = None
    isolate: bool = False
    resources: Mapping[str, float] | None = None
    wait_limit: float = 600.0
    lane: str = ""

    @cached_property
    def name(self) -> str:
        """The stage's name."""
        return self.planned.name

    @cached_property
    def kind(self) -> Kind:
        """What kind of stage it is."""
        return self.planned.kind

    @property
    def takes(self) -> float:
        """Seconds that a call usually takes."""
        return self.planned.takes

    @cached_property
    def runs_in_loop(self) -> bool:
        """Whether the handler is ``async def``."""
        return inspect.iscoroutinefunction(self.handler) or inspect.isasyncgenfunction(self.handler)

    @property
    def can_be_isolated(self) -> bool:
        """Whether a child process can find the handler by its name."""
        return "<" not in self.handler.__qualname__

    def isolates(self, setting: str) -> bool:
        """Whether its calls run in child processes, given the setting ``isolate``."""
        return self.isolate or (setting == "functions" and not self.runs_in_loop and self.can_be_isolated)


class Pipeline(Declarations):
    """A named list of stages. See the guide "Writing pipelines".

    >>> book = Pipeline("novel")
    >>> @book.split
    ... def chapters(task): ...
    """

    calls_with_arguments = False
    """Whether the handler gets the submitted arguments instead of the task."""

    def __init__(
        self,
        name: str,
        *,
        title: str | None = None,
        check_options: Callable[[dict[str, Any]], object] | None = None,
        options: Sequence[Option] | Mapping[str, str] | None = None,
        accepts: Sequence[str] = (),
        picture: Callable[..., bytes] | None = None,
        unit: tuple[str, str] = ("item", "items"),
        words: Vocabulary | None = None,
        view: str = "",
        types: Sequence[type[Any]] = (),
        templates: Sequence[TemplateKind] = (),
        subtasks: Sequence[Target] = (),
    ) -> None:
        if not NAME.fullmatch(name):
            raise BadPipeline(f"'{name}' cannot name a pipeline: use letters, digits, - and _, starting with a letter.")
        super().__init__(options, words, view, templates)
        self.name = name
        self.title = title or name
        self.check_options = check_options
        """Raises if options do not fit together. Called at submit and at retry, before anything is changed."""
        self.accepts = tuple(accepts)
        """File endings that it accepts, such as `.pdf`; if empty, any value or file."""
        self.picture = picture
        """Draws an item as a JPEG or PNG, from the item's input. Called in a child process when somebody looks at it.
        One with a parameter ``page`` draws that page of the item, counted from 1."""
        self.unit = unit
        """The singular and plural word for its items: `("page", "pages")`."""
        self.subtasks = tuple(subtasks)
        """Pipelines whose tasks its handlers submit: whoever serves this one serves them too."""
        self.stages: dict[str, Stage] = {}
        self.compensations: dict[str, Stage] = {}
        self.mirror: Callable[..., Any] | None = None
        self._declared_types = check_declared_types(types, name)
        self._kept_types: KeptTypes | None = None

    @property
    def origin(self) -> str:
        """Where its first handler is defined: file and line."""
        handlers = [inspect.unwrap(stage.handler) for stage in self.all_stages()]
        code = getattr(handlers[0], "__code__", None) if handlers else None
        if code is None:
            return handlers[0].__module__ if handlers else "nowhere: it has no stages"
        return f"{code.co_filename}:{code.co_firstlineno}"

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}: {' → '.join(self.stages) or 'no stages'})"

    @property
    def kept_types(self) -> KeptTypes:
        """The types of its inputs and outputs. Computed at first use, because annotations may name classes defined later."""
        if self._kept_types is None:
            self._kept_types = KeptTypes(self.all_stages(), self._declared_types, self.calls_with_arguments)
        return self._kept_types

    @overload
    def split(self, handler: TaskHandler, /) -> TaskHandler: ...
    @overload
    def split(self, /, **rules: Unpack[StageRules]) -> Callable[[TaskHandler], TaskHandler]: ...
    def split(self, handler: Any = None, /, **rules: Any) -> Any:
        """A stage of one item that yields ``NewItem``s: the items of the ``each`` stage after it."""
        return self._decorate(
            Kind.SPLIT, handler, {"timeout": 300.0, "ready": "pending", "doing": "splitting", **rules}
        )

    @overload
    def each(self, handler: TaskHandler, /) -> TaskHandler: ...
    @overload
    def each(self, /, **rules: Unpack[StageRules]) -> Callable[[TaskHandler], TaskHandler]: ...
    def each(self, handler: Any = None, /, **rules: Any) -> Any:
        """A stage of N items: the handler gets an item and returns its result.

        With ``batch=64`` it gets a list of up to 64 items, and returns a list with a result (or an exception) for each.
        """
        return self._decorate(Kind.EACH, handler, {"ready": "processing", "doing": "processing", "weight": 90, **rules})

    @overload
    def merge(self, handler: MergeHandler, /) -> MergeHandler: ...
    @overload
    def merge(self, /, **rules: Unpack[StageRules]) -> Callable[[MergeHandler], MergeHandler]: ...
    def merge(self, handler: Any = None, /, **rules: Any) -> Any:
        """A stage of one item that gets the task and the ordered stream of results."""
        return self._decorate(
            Kind.MERGE, handler, {"timeout": 300.0, "ready": "ready to merge", "doing": "merging", **rules}
        )

    @overload
    def step(self, handler: TaskHandler, /) -> TaskHandler: ...
    @overload
    def step(self, /, **rules: Unpack[StageRules]) -> Callable[[TaskHandler], TaskHandler]: ...
    def step(self, handler: Any = None, /, **rules: Any) -> Any:
        """A stage of one item; ``task.previous`` is the output of the step before."""
        return self._decorate(Kind.STEP, handler, {"timeout": 300.0, **rules})

    def on_failed(self, handler: TaskHandler, /) -> TaskHandler:
        """A durable step that takes effect once, when the task has failed."""
        return self._compensate(ON_FAILED, handler)

    def on_cancelled(self, handler: TaskHandler, /) -> TaskHandler:
        """A durable step that takes effect once, when the task was cancelled."""
        return self._compensate(ON_CANCELLED, handler)

    def on_move(self, handler: MergeHandler, /) -> MergeHandler:
        """Register a function ``(connection, change)`` that is called inside the transaction of each move of a task."""
        if self.mirror is not None:
            raise BadPipeline(f"Pipeline {self.name} already has an on_move function: {self.mirror.__qualname__}.")
        check_parameters(handler, ("connection", "change"))
        self.mirror = handler
        return handler

    def plan(self) -> Plan:
        """The part of the pipeline that is stored with each task; raises BadPipeline if the stages are not valid."""
        stages = tuple(stage.planned for stage in self.stages.values())
        if not stages:
            raise BadPipeline(
                f"Pipeline {self.name} has no stages. Define one with @{self.name}.step, or split, each and merge."
            )
        for stage, follower in zip(stages, (*stages[1:], None), strict=True):
            if stage.kind is Kind.SPLIT and (follower is None or follower.kind is not Kind.EACH):
                raise BadPipeline(f"Stage {stage.name} of {self.name} splits, so an `each` stage must follow it.")
            if stage.kind is not Kind.EACH and stage.kind is not Kind.SPLIT and follower and follower.kind is Kind.EACH:
                raise BadPipeline(
                    f"Stage {follower.name} of {self.name} is `each`: a split, another each or nothing comes before it."
                )
        if any(stage.kind is Kind.MERGE and not self._each_before(index) for index, stage in enumerate(stages)):
            raise BadPipeline(f"A merge of {self.name} has no `each` stage before it: there is nothing to merge.")
        self.words.check(
            self.name,
            {word for one in stages for word in (one.ready, one.doing, one.retrying)},
            [one.name for one in stages],
        )
        return Plan(
            stages,
            ON_FAILED in self.compensations,
            ON_CANCELLED in self.compensations,
            self.mirror is not None,
            tuple(self.words.task.items()),
            tuple(self.words.item.items()),
            self.words.done_phase,
        )

    def find(self, stage: str) -> Stage | None:
        """The stage of that name in the current code, compensations included."""
        return self.stages.get(stage) or self.compensations.get(stage)

    def all_stages(self) -> tuple[Stage, ...]:
        """Every stage with a handler, compensations last."""
        return (*self.stages.values(), *self.compensations.values())

    def _each_before(self, index: int) -> bool:
        return any(stage.kind is Kind.EACH for stage in list(self.stages.values())[:index])

    def _decorate(self, kind: Kind, handler: Handler | None, rules: dict[str, Any]) -> Any:
        if handler is not None:
            return self._add(kind, handler, rules)
        return lambda later_handler: self._add(kind, later_handler, rules)

    def _add(self, kind: Kind, handler: Handler, rules: dict[str, Any]) -> Handler:
        stage = make_stage(kind, handler, rules)
        argument = "items" if stage.batch else ARGUMENT.get(kind, "")
        check_parameters(handler, ("task", "results") if kind is Kind.MERGE else (argument,))
        check_output(handler, f"Stage {stage.name} of {self.name}", in_list=stage.batch is not None)
        if stage.name in self.stages or stage.name in (ON_FAILED, ON_CANCELLED):
            raise BadPipeline(f"Pipeline {self.name} already has a stage '{stage.name}'. Give this one another name=.")
        self.stages[stage.name] = stage
        self._kept_types = None
        return handler

    def _compensate(self, name: str, handler: Handler) -> Handler:
        if name in self.compensations:
            raise BadPipeline(f"Pipeline {self.name} already has an {name} step.")
        check_parameters(handler, ("task",))
        rules = {"name": name, "ready": "compensating", "doing": "compensating", "weight": 0, "timeout": 300.0}
        self.compensations[name] = make_stage(Kind.STEP, handler, rules)
        return handler


def make_stage(kind: Kind, handler: Callable[..., Any], rules: dict[str, Any]) -> Stage:
    """A stage from its handler and the rules given to the decorator."""
    name = rules.get("name") or handler.__name__.strip("_")
    unknown = set(rules) - {*PLANNED_RULES, *RUN_RULES, "name"}
    if unknown:
        raise BadPipeline(
            f"Stage {name} has unknown rules {sorted(unknown)}; there are {', '.join((*PLANNED_RULES, *RUN_RULES))}."
        )
    if not NAME.fullmatch(name):
        raise BadPipeline(f"'{name}' cannot name a stage: use letters, digits, - and _, starting with a letter.")
    for rule in ("timeout", "concurrency", "limit", "wait_limit", "crash_limit"):
        if rules.get(rule) is not None and rules[rule] <= 0:
            raise BadPipeline(f"Stage {name} has {rule}={rules[rule]}; it must be more than 0.")
    if rules.get("quiet_seconds", 0) < 0 or ("quiet_seconds" in rules and kind is not Kind.MERGE):
        raise BadPipeline(
            f"quiet_seconds={rules['quiet_seconds']} of stage {name} is not valid: only a merge can have it, 0 or more."
        )
    if rules.get("tolerate", 0) < 0:
        raise BadPipeline(f"Stage {name} has tolerate={rules['tolerate']}; give a share below 1, or a number of items.")
    if rules.get("lane", "") not in ("", *LANES):
        raise BadPipeline(f"Stage {name} has lane={rules['lane']!r}; there are {', '.join(LANES)}.")
    if rules.get("isolate") and "<" in handler.__qualname__:
        raise BadPipeline(
            f"Stage {name} is isolated, so its handler must be a function of a module, not {handler.__qualname__}."
        )
    check_resources(name, rules.get("resources"))
    check_batch(name, kind, rules)
    rules = {"doing": name, **rules} if kind is Kind.STEP else rules
    fixed = {rule: rules[rule] for rule in PLANNED_RULES if rule in rules}
    if isinstance(gate := fixed.get("gate"), Gate):
        fixed |= {"gate": True, "asks": gate.stored()}
    planned = PlannedStage(name, kind, **fixed)
    return Stage(planned, handler, **{rule: rules[rule] for rule in RUN_RULES if rule in rules})


class FunctionPipeline(Pipeline):
    """The pipeline behind one function."""

    calls_with_arguments = True


class TaskFunction(Generic[Parameters, Returned]):
    """What ``@fanfold.task`` makes of a function: callable as before, and a pipeline of one step."""

    def __init__(self, function: Callable[Parameters, Returned], pipeline: Pipeline) -> None:
        self.function = function
        self.pipeline = pipeline
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    def __call__(self, *arguments: Parameters.args, **named: Parameters.kwargs) -> Returned:
        """Call the function itself, now, with the arguments it would be submitted with; nothing is stored."""
        if self.wants_task and "task" not in named and not (arguments and hasattr(arguments[0], "progress")):
            call: Callable[..., Returned] = self.function
            return call(Alone(named), *arguments, **named)
        return self.function(*arguments, **named)

    @property
    def wants_task(self) -> bool:
        """Whether its first parameter is the task."""
        return next(iter(inspect.signature(self.function).parameters), None) == "task"


@overload
def task(function: Callable[Parameters, Returned], /) -> TaskFunction[Parameters, Returned]: ...
@overload
def task(
    **rules: Unpack[StageRules],
) -> Callable[[Callable[Parameters, Returned]], TaskFunction[Parameters, Returned]]: ...
def task(function: Any = None, /, **rules: Any) -> Any:
    """Turn one function into a durable pipeline of one step (also as ``@task(retry=…, timeout=…)``).

    The function gets the arguments it was submitted with. If its first parameter is named ``task``, it gets the task too.
    """
    if function is None:
        return lambda later_function: _task_function(later_function, rules)
    return _task_function(function, rules)


def _task_function(
    function: Callable[Parameters, Returned], rules: dict[str, Any]
) -> TaskFunction[Parameters, Returned]:
    pipeline = FunctionPipeline(rules.get("name") or function.__name__)
    made = TaskFunction(function, pipeline)
    check_output(function, f"Function {function.__qualname__}")
    stage = make_stage(Kind.STEP, function, {"doing": "running", "timeout": None, **rules, "name": None})
    pipeline.stages[stage.name] = stage
    return made


Target = Pipeline | TaskFunction[..., Any]
"""What can be submitted, run or served: a pipeline, or a function made with ``@fanfold.task``."""


def by_name(targets: Iterable[Target]) -> dict[str, Pipeline]:
    """The pipelines by name, with those of their subtasks.

    BadPipeline if two different ones share a name, since only one could do the work.
    """
    found: dict[str, Pipeline] = {}
    left = [as_pipeline(target) for target in targets]
    while left:
        pipeline = left.pop(0)
        left += [one for one in map(as_pipeline, pipeline.subtasks) if one.name not in found]
        other = found.setdefault(pipeline.name, pipeline)
        if other is not pipeline:
            raise BadPipeline(
                f"Two pipelines are named {pipeline.name}: one from {other.origin}, one from {pipeline.origin}. "
                "Rename one of them, or leave it out."
            )
    return found


def as_pipeline(target: Target) -> Pipeline:
    """The pipeline behind a pipeline or a task function."""
    found = target.pipeline if isinstance(target, TaskFunction) else target
    if not isinstance(found, Pipeline):
        raise BadPipeline(f"{found!r} is not a pipeline. Make one with fanfold.Pipeline(...) or @fanfold.task.")
    return found
