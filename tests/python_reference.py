"""Makes the Python reference from the public surface: signatures, docstrings and documented attributes."""

import ast
import enum
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any, get_overloads

import fanfold
from fanfold.engine.handlers.work import Work
from fanfold.model.pipelines.rules import RunRules, StageRules
from fanfold.running.signatures import RunParameters

HEAD = """# Python

Everything in `import fanfold as ff`, made from its docstrings. This page is a promise: it changes only with a new version, and
the release notes (`CHANGELOG.md`) say so. How to use it: [Writing pipelines](../guides/writing-pipelines.md)."""

SECTIONS = {
    "Pipelines": ("Pipeline", "task", "NewItem", "Retry", "later", "BEGAN_AGAIN"),
    "What handlers get": ("TaskWork", "ItemWork", "Results", "Result", "File", "Change"),
    "Run, submit, steer": ("run", "arun", "Client", "AsyncClient", "Upload", "Worker"),
    "What clients return": ("Task", "TaskState", "Item", "ItemState", "Event", "ExternalJob", "Spending"),
    "Models": ("Answer", "Check"),
    "Reviewing": ("Decision", "NewDecision", "part_key", "part_keys"),
    "Applications": (
        "Application", "AppCommand", "Option", "read_options", "Vocabulary", "Catalogue", "Form", "FormWork", "FormFile",
        "Action", "ActionWork", "ActionOutcome",
    ),
}  # fmt: skip
"""The order of the page. Errors have a section of their own; a name that is not here comes under *More*."""

WIDTH = 110
"""Longest signature on one line."""


def python() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, names in sections().items():
        parts += [f"## {title}", *(entry(name, getattr(fanfold, name)) for name in names)]
        parts += [extra() for extra in EXTRAS.get(title, ())]
    return "\n\n".join([*parts, *testing()])


def testing() -> list[str]:
    """The surface of ``fanfold.testing``, where there is one."""
    if find_spec("fanfold.testing") is None:
        return []
    module = import_module("fanfold.testing")
    names = sorted(module.__all__)
    return ["## `fanfold.testing`", prose(module), *(entry(name, getattr(module, name), "testing") for name in names)]


def sections() -> dict[str, list[str]]:
    """Every public name in its section."""
    public = set(fanfold.__all__)
    errors = {
        name for name in public if inspect.isclass(found := getattr(fanfold, name)) and issubclass(found, Exception)
    }
    found = {title: [name for name in names if name in public] for title, names in SECTIONS.items()}
    placed = {name for names in found.values() for name in names} | errors
    more = {"More": sorted(public - placed)} if public - placed else {}
    return {**found, **more, "Errors": sorted(errors)}


def stage_rules() -> str:
    """The rules that the decorators of a pipeline take."""
    head = "### Rules of a stage\n\nThe keyword arguments of `step`, `split`, `each`, `merge` and `@ff.task`."
    return f"{head}\n\n{attribute_table(attributes([RunRules, StageRules]))}"


def run_parameters() -> str:
    """The keyword arguments of ``run`` and ``arun``."""
    head = "### Parameters of a run\n\nThe keyword arguments of `ff.run` and `ff.arun`."
    return f"{head}\n\n{attribute_table(attributes([RunParameters]))}"


def both_have() -> str:
    """What the task and the item of a handler have in common."""
    return class_text("### What both have", "item", Work, [Work])


EXTRAS: dict[str, tuple[Callable[[], str], ...]] = {
    "Pipelines": (stage_rules,),
    "What handlers get": (both_have,),
    "Run, submit, steer": (run_parameters,),
}
"""Entries at the end of a section that are not a public name."""


def entry(name: str, value: Any, module: str = "ff") -> str:
    """One public name."""
    heading = f"### `{module}.{name}`"
    if inspect.isclass(value):
        return class_entry(heading, name, value)
    if callable(value):
        return "\n\n".join([heading, *function_text(name, value)])
    return f"{heading}\n\n{prose(value)}"


def class_entry(heading: str, name: str, kind: type) -> str:
    """A class: how it is made, what it holds, what it does."""
    if issubclass(kind, enum.Enum):
        values = ", ".join(f"`{member.value}`" for member in kind)
        return "\n\n".join([heading, prose(kind), f"One of {values}."])
    own = [kind] if issubclass(kind, Exception) else [part for part in lineage(kind) if part is not Work]
    return class_text(heading, name, kind, own)


def class_text(heading: str, name: str, kind: type, parts: list[type]) -> str:
    """A class as far as these parts of its lineage define it."""
    text, found = [heading], attributes(parts)
    if is_made_by_programs(kind):
        text.append(fenced([signature_text(name, kind)]))
        found = {attribute: meaning for attribute, meaning in found.items() if meaning[1]}
    if issubclass(kind, Exception):
        text.append(f"A kind of `{kind.__mro__[1].__name__}`.")
    text.append(prose(kind))
    if found:
        text.append(attribute_table(found))
    told = {member for member, _ in methods(lineage(getattr(fanfold, LIKE[name])))} if name in LIKE else set()
    for member, function in methods(parts):
        if member not in told:
            text += [f"#### `{name}.{member}`", *function_text(member, function)]
    return "\n\n".join(text)


LIKE = {"AsyncClient": "Client"}
"""Classes with the methods of another one, which are described there."""

HANDED_OUT = {
    "TaskWork", "ItemWork", "Work", "Results", "Result", "File", "Change", "FormWork", "ActionWork", "Check", "Task", "Item",
    "Event", "ExternalJob", "Spending", "Answer", "Decision", "ActionOutcome",
}  # fmt: skip
"""Classes that a program is given and does not make: their fields are shown, not how they are made."""


def is_made_by_programs(kind: type) -> bool:
    """Whether a program makes objects of this class, with a constructor that is written in Python."""
    written = any(inspect.isfunction(vars(part).get(name)) for part in kind.__mro__ for name in ("__init__", "__new__"))
    return written and kind.__name__ not in HANDED_OUT


def function_text(name: str, function: Callable[..., Any]) -> list[str]:
    """Signatures and docstring of a function or method."""
    overloads = get_overloads(inspect.unwrap(function)) or [function]
    return [fenced([signature_text(name, one) for one in overloads]), prose(function)]


def fenced(lines: list[str]) -> str:
    """Signatures as code."""
    return "\n".join(["```py", *lines, "```"])


def signature_text(name: str, value: Callable[..., Any]) -> str:
    """A signature on one line, or with a line for each parameter."""
    found = inspect.signature(value)
    kept = [readable(one) for key, one in found.parameters.items() if key not in ("self", "cls", "client")]
    returned = "" if inspect.isclass(value) else returns(found)
    name = f"async {name}" if inspect.iscoroutinefunction(value) else name
    line = f"{name}{found.replace(parameters=kept, return_annotation=found.empty)}{returned}"
    if len(line) <= WIDTH:
        return line
    inner = str(found.replace(parameters=kept, return_annotation=found.empty))[1:-1]
    return f"{name}(\n{textwrap.indent(one_per_line(inner), '    ')}\n){returned}"


def one_per_line(parameters: str) -> str:
    """The text of parameters, broken at the commas that separate them."""
    lines: list[str] = []
    depth, line = 0, ""
    for letter in parameters:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            lines.append(f"{line.strip()},")
            line = ""
        else:
            line += letter
    return "\n".join([*lines, f"{line.strip()},"])


def returns(found: inspect.Signature) -> str:
    """What a function returns."""
    return "" if found.return_annotation is found.empty else f" -> {annotation(found.return_annotation)}"


class Shown:
    """A default or annotation that is printed as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def readable(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter whose annotation and default read as in the source."""
    noted = parameter.annotation
    if noted is not parameter.empty:
        parameter = parameter.replace(annotation=Shown(annotation(noted)))
    if parameter.default is not parameter.empty:
        parameter = parameter.replace(default=Shown(default(parameter.default)))
    return parameter


def annotation(noted: Any) -> str:
    """An annotation as text."""
    text = noted if isinstance(noted, str) else inspect.formatannotation(noted)
    return text.replace("builtins.", "").replace("typing.", "").strip("'\"")


def default(value: Any) -> str:
    """A default as a reader would write it."""
    if isinstance(value, enum.Enum):
        return str(value) if isinstance(value, str) and not str(value) else f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (str, int, float, bytes, tuple, list, dict, frozenset)):
        return repr(value)
    return "…"


def methods(parts: list[type]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods of a class, in the order of their definition, those of its bases first."""
    found = {name: value for part in parts for name, value in vars(part).items() if not name.startswith("_")}
    for name, value in found.items():
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if inspect.isfunction(plain):
            yield name, plain


def lineage(kind: type) -> list[type]:
    """A class and its bases as far as they are Fanfold's, the furthest first."""
    return [part for part in reversed(kind.__mro__) if part.__module__.startswith("fanfold")]


def attributes(parts: list[type]) -> dict[str, tuple[str, str]]:
    """The public attributes of a class with type and meaning: its fields, its properties and what ``__init__`` documents."""
    found: dict[str, tuple[str, str]] = {}
    for part in parts:
        [tree] = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        assert isinstance(tree, ast.ClassDef)
        found |= documented(tree.body)
        found |= {
            name: (returns(inspect.signature(read)).removeprefix(" -> "), inspect.getdoc(value) or "")
            for name, value in vars(part).items()
            if not name.startswith("_") and (read := getter(value)) is not None
        }
    return {name: meaning for name, meaning in found.items() if not name.startswith("_")}


def getter(value: Any) -> Callable[..., Any] | None:
    """The function behind a property."""
    return value.fget if isinstance(value, property) else value.func if isinstance(value, cached_property) else None


def documented(body: list[ast.stmt]) -> dict[str, tuple[str, str]]:
    """The fields of a class body, and the attributes of ``self`` that a string after them explains."""
    found: dict[str, tuple[str, str]] = {}
    for statement, after in zip(body, [*body[1:], None], strict=True):
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[statement.target.id] = (ast.unparse(statement.annotation), str(said))
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute) and said:
            found[statement.targets[0].attr] = ("", str(said))
        elif isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            found |= documented(statement.body)
    return found


def attribute_table(found: dict[str, tuple[str, str]]) -> str:
    """Attributes as a table."""
    rows = [f"| `{name}` | {code(kind)} | {cell(meaning)} |" for name, (kind, meaning) in found.items()]
    return "\n".join(["| attribute | type | meaning |", "|---|---|---|", *rows])


def code(text: str) -> str:
    """A type as code, or nothing."""
    escaped = text.replace("|", "\\|").strip("'\"")
    return f"`{escaped}`" if escaped else ""


def cell(text: str) -> str:
    """A docstring that fits into a cell of a table."""
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


def prose(value: Any) -> str:
    """A docstring as Markdown; an example in it is code."""
    paragraphs = (inspect.getdoc(value) or "").replace("``", "`").split("\n\n")
    return "\n\n".join(
        f"```pycon\n{paragraph}\n```" if paragraph.startswith(">>>") else paragraph for paragraph in paragraphs
    )
