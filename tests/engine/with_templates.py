"""A pipeline whose tasks take templates, for tests of the engine, the command line and the server."""

import json
from collections.abc import Iterator
from typing import Any

import fanfold as ff


def mistakes(body: Any) -> Iterator[str]:
    """A sentence for each field that is none."""
    if not isinstance(body, dict):
        yield "Write fields as names with questions."
        return
    for name, question in body.items():
        if not isinstance(question, str) or not question.endswith("?"):
            yield f"The field {name} has no question."


def check_fields(text: str) -> None:
    """The option takes the text of a template, never its name."""
    if not text.startswith("{"):
        raise ff.Permanent("These are not fields.")


survey = ff.Pipeline(
    "survey",
    title="Survey",
    options=[ff.Option("fields", "file", "The questions.", check=check_fields), ff.Option("tone", "text", "", "plain")],
    templates=[ff.TemplateKind("fields", "Fields", "Questions by name.", mistakes, "fields", '{"age": "How old?"}')],
)


@survey.each
def ask(item: ff.ItemWork) -> dict[str, Any]:
    """Every question of the template, for one person."""
    asked = json.loads(item.options.get("fields") or "{}")
    return {name: f"{item.input}: {question}" for name, question in asked.items()}
