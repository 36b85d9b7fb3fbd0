"""The public surface is exactly what is promised and documented, and cheap to import."""

import inspect
import subprocess
import sys

import pytest

import fanfold
from fanfold.engine.queries.web_queries import WebQueries

PROMISED = [
    "Action", "ActionFailed", "ActionOutcome", "ActionWork", "Ambiguous", "Answer", "AppCommand", "Application",
    "AsyncClient", "BEGAN_AGAIN", "BadAnswer", "BadInput", "BadOption", "BadPipeline", "BadTemplate", "Batch", "Budget",
    "Cancelled",
    "Catalogue", "Change", "Check", "ChildDied", "Client", "DatabaseProblem", "Decision", "Estimate", "EstimateWork", "Event",
    "ExpectedCall", "ExternalJob", "FanfoldError", "File", "Form",
    "FormFailed", "FormFile", "FormWork", "HandlerError", "HoldItem", "IllegalMove", "Item", "ItemState", "ItemWork", "JobFailed",
    "JsonFormatter", "LeaseLost", "NewDecision", "NewItem", "NoAnswer", "NotFound", "Option", "PauseTask", "Permanent",
    "Pipeline", "Result", "Results", "Retry", "Spending", "Task", "TaskState", "TaskStopped", "TaskWork", "Template",
    "TemplateKind", "TemplateUse", "Temporary", "Unreadable", "Upload",
    "Vocabulary", "Worker", "arun", "celery", "from_celery", "later",
    "part_key", "part_keys", "read_options", "register_codec", "run", "task",
    "CreditAccount", "CreditEntry", "Gate", "GateAnswer", "NotEnoughCredits", "Price", "PriceWork", "Subtask",
    "SubtaskFailed", "TickReport", "tick",
]  # fmt: skip


def test_the_surface_is_exactly_what_is_promised() -> None:
    assert sorted(fanfold.__all__) == sorted(PROMISED)
    assert set(PROMISED) <= set(dir(fanfold))


@pytest.mark.parametrize("name", PROMISED)
def test_every_name_is_there_and_documented(name: str) -> None:
    found = getattr(fanfold, name)
    assert (found.__doc__ or "").strip()


@pytest.mark.parametrize(
    "name", ["AsyncClient", "Client", "Worker", "Pipeline", "ItemWork", "TaskWork", "Results", "File"]
)
def test_every_public_method_is_documented(name: str) -> None:
    owner = getattr(fanfold, name)
    methods = [member for member in dir(owner) if not member.startswith("_")]
    undocumented = [
        member for member in methods if callable(getattr(owner, member)) and not getattr(owner, member).__doc__
    ]
    assert undocumented == []


def test_an_unknown_name_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        getattr(fanfold, "Nonsense")  # noqa: B009


def test_errors_have_codes_and_one_family() -> None:
    family = [getattr(fanfold, name) for name in PROMISED if isinstance(getattr(fanfold, name), type)]
    ours = [error for error in family if issubclass(error, fanfold.FanfoldError)]
    assert len({error.code for error in ours}) == len(ours) > 6
    assert issubclass(fanfold.Temporary, fanfold.HandlerError)
    assert not issubclass(fanfold.HandlerError, fanfold.FanfoldError)


def test_importing_fanfold_and_defining_a_pipeline_does_not_load_a_database() -> None:
    program = (
        "import sys, fanfold as ff\n"
        "book = ff.Pipeline('book')\n"
        "@book.each(retry=ff.Retry(limit=1))\n"
        "def convert(item): return item.input\n"
        "book.plan()\n"
        "print([name for name in ('sqlalchemy', 'alembic', 'psycopg', 'click', 'rich', 'asyncio') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


NOT_AT_THE_START = (
    *("alembic", "anthropic", "click", "obstore", "openai", "psycopg", "redis", "rich"),
    *("sqlalchemy.dialects.postgresql", "sqlalchemy.orm"),
)


def test_a_client_and_a_worker_load_only_what_every_process_needs() -> None:
    program = (
        "import gc, sys, fanfold as ff\n"
        "began = []\n"
        "gc.callbacks.append(lambda phase, about: began.append(phase))\n"
        "ff.Client, ff.Worker\n"
        "gc.callbacks.clear()\n"
        "assert gc.isenabled()\n"
        "print(*sys.modules)\n"
        "print(len(began))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    modules, collections = printed.splitlines()
    loaded = set(modules.split())
    assert {"fanfold.engine.client", "fanfold.engine.worker.loop"} <= loaded
    assert loaded & set(NOT_AT_THE_START) == set()
    assert int(collections) <= 6, "garbage is not collected while modules load, only between them"


def test_what_only_pages_ask_is_no_part_of_the_client() -> None:
    asked_by_pages = {name for name in vars(WebQueries) if not name.startswith("_")}
    assert asked_by_pages
    assert asked_by_pages & set(dir(fanfold.Client)) == set()


def test_every_method_of_the_client_says_what_it_does_and_what_it_takes() -> None:
    methods = {name: method for name, method in vars(fanfold.Client).items() if not name.startswith("_")}
    assert {"get", "list", "items", "result", "stream", "submit"} <= set(methods)
    for name, method in methods.items():
        assert inspect.getdoc(method), name
        first = next(iter(inspect.signature(method).parameters))
        assert first == "self", name
