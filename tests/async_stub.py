"""Writes ``fanfold/engine/async_client.pyi`` from the signatures of `Client`; a test compares the two."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_overloads

from fanfold.engine import async_client
from fanfold.engine.async_calls import THREADS, is_iterator, public_methods
from fanfold.engine.client import Client
from fanfold.engine.credits.accounts import Credits
from fanfold.engine.schedules import Schedules
from fanfold.engine.templates import Templates
from fanfold.engine.webhooks.endpoints import Webhooks

STUB = Path(async_client.__file__).with_suffix(".pyi")
HEAD = (
    '''"""`AsyncClient` for type checkers. Written by `python -m tests.async_stub` from `Client`; change it there."""'''
)
SIMPLE = (str, int, float, bool, type(None))
ELEMENTS = {"Results": "Result"}
"""The elements of an iterable class."""
PARTS = (Templates, Schedules, Credits, Webhooks)
ALWAYS = (
    "import builtins",
    "from collections.abc import AsyncGenerator",
    "from types import TracebackType",
    "from typing import Self",
)


def stub() -> str:
    """The text of the stub."""
    methods = {name: method for name, method in public_methods(Client).items() if name != "close"}
    body = [_init(), *(text for name, method in sorted(methods.items()) for text in _method(name, method))]
    frame = (
        "    async def __aenter__(self) -> Self: ...\n"
        "    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, "
        "trace: TracebackType | None) -> None: ...\n"
        "    async def close(self) -> None: ..."
    )
    parts = [f"    @property\n    def {part.__name__.lower()}(self) -> Async{part.__name__}: ..." for part in PARTS]
    kept = [method for part in PARTS for method in public_methods(part).values()]
    before = [line for part in PARTS for line in _part(part)]
    class_text = "\n".join([*before, "class AsyncClient:", body[0], frame, *parts, *body[1:]])
    imports = {*ALWAYS, *_imports([Client.__init__, *methods.values(), *kept], class_text)}
    return "\n".join([HEAD, "", *_ordered(imports), "", class_text]) + "\n"


def _part(part: type) -> list[str]:
    """The class of a part of the client."""
    methods = sorted(public_methods(part).items())
    return [f"class Async{part.__name__}:", *(text for name, method in methods for text in _method(name, method)), ""]


def _init() -> str:
    parameters = [*inspect.signature(Client.__init__).parameters.values()]
    threads = inspect.Parameter("threads", inspect.Parameter.KEYWORD_ONLY, default=THREADS, annotation="int")
    return f"    def __init__({_parameters([*parameters, threads])}) -> None: ..."


def _method(name: str, method: Callable[..., Any]) -> list[str]:
    """One method, or its overloads."""
    overloads = get_overloads(inspect.unwrap(method))
    lines = []
    for one in overloads or [method]:
        signature = inspect.signature(one)
        returned = str(signature.return_annotation)
        given = _parameters(signature.parameters.values())
        mark = "    @overload\n" if overloads else ""
        if is_iterator(one):
            name_of, _, parameters = returned.partition("[")
            element = f"{ELEMENTS[name_of]}[{parameters}" if name_of in ELEMENTS else parameters.removesuffix("]")
            lines.append(f"{mark}    def {name}({given}) -> AsyncGenerator[{_plain(element)}, None]: ...")
        else:
            lines.append(f"{mark}    async def {name}({given}) -> {_plain(returned)}: ...")
    return lines


def _parameters(parameters: Iterable[inspect.Parameter]) -> str:
    """As in the source; a default that is not a plain value is written as `...`."""
    shown = []
    for one in parameters:
        default = one.default if one.default is inspect.Parameter.empty or _is_plain(one.default) else Dots()
        annotation = one.annotation if one.annotation is one.empty else Raw(_plain(str(one.annotation)))
        shown.append(one.replace(default=default, annotation=annotation))
    return str(inspect.Signature(shown)).removeprefix("(").removesuffix(")")


class Raw(str):
    """An annotation, without quotes."""

    def __repr__(self) -> str:
        return str(self)


class Dots:
    """A default that is not written out."""

    def __repr__(self) -> str:
        return "..."


def _is_plain(value: Any) -> bool:
    return type(value) in SIMPLE or value == ()


def _plain(annotation: str) -> str:
    """In a class with a method `list`, the type has to be named in full."""
    return re.sub(r"(?<![\w.])list\[", "builtins.list[", annotation)


def _imports(methods: Iterable[Callable[..., Any]], text: str) -> set[str]:
    """The imports that the annotations need, as the modules of the methods have them; also those for type checkers only."""
    found: dict[str, str] = {}
    for method in methods:
        module = sys.modules[inspect.unwrap(method).__module__]
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.ImportFrom):
                found |= {one.asname or one.name: f"from {node.module} import {one.name}" for one in node.names}
            elif isinstance(node, ast.ClassDef):
                found.setdefault(node.name, f"from {module.__name__} import {node.name}")
    used = set(re.findall(r"\w+", text))
    known = {name for line in ALWAYS for name in line.split()[-1:]} | {"AsyncClient", "annotations", "UTC"}
    known |= {f"Async{part.__name__}" for part in PARTS}
    return {
        line for name, line in found.items() if name in used - known and (name[0].isupper() or name == "datetime")
    } | ({"from typing import overload"} if "@overload" in text else set())


def _ordered(imports: set[str]) -> list[str]:
    ours = sorted(line for line in imports if line.startswith("from fanfold"))
    plain = sorted(line for line in imports if line.startswith("import "))
    return [*plain, *sorted(imports - {*ours, *plain}), "", *ours]


def formatted(text: str) -> str:
    """The stub as `make fix` leaves it."""
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    sorting = [sys.executable, "-m", "ruff", "check", "--select", "I,UP", "--fix", "--stdin-filename", str(STUB), "-"]
    for command in (sorting, ruff):
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    STUB.write_text(formatted(stub()), encoding="utf-8")
