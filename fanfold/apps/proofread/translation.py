"""The pipeline of translation: collect terms for a glossary, then validate, process and merge as in proofreading.

fanfold translate book.epub --to zh
"""

from __future__ import annotations

import asyncio
from typing import Any

import fanfold as ff
from fanfold.apps.proofread.estimating import expected_translation_calls
from fanfold.apps.proofread.options import TRANSLATE_OPTIONS, Options
from fanfold.apps.proofread.output import forms
from fanfold.apps.proofread.pipeline import ACCEPTS, QUIET_SECONDS, WORDS
from fanfold.apps.proofread.review import actions

ANY_NUMBER = 1_000_000_000
"""A section without terms does not stop the translation."""
translate = ff.Pipeline(
    "translate",
    title="Translate a book",
    check_options=Options.of_translate,
    options=TRANSLATE_OPTIONS,
    accepts=ACCEPTS,
    unit=("chunk", "chunks"),
    view="changes",
    words=WORDS,
)
forms.declare(translate, (*forms.SHARED, *forms.OF_TRANSLATION))
actions.declare(translate)
actions.declare_glossary(translate)
translate.estimate(expected_translation_calls)


@translate.split(name="survey", phase="glossary", doing="running", retrying="running", timeout=900)
async def survey(task: ff.TaskWork) -> list[ff.NewItem]:
    """Divide the book into sections from which terms are collected; none if no model is to collect them."""
    from fanfold.apps.proofread.stages.collecting import sections
    from fanfold.apps.proofread.stages.validating import named_file

    options = Options.of_translate(task.options)
    if not options.collects_terms:
        return []
    found = await task.in_child(sections, await asyncio.to_thread(named_file, task), options)
    return [ff.NewItem(str(section["number"]), section) for section in found]


@translate.each(
    name="terms", phase="glossary", ready="queued", doing="running", weight=10, timeout=1_800, retry=ff.Retry(limit=3),
    tolerate=ANY_NUMBER,
)  # fmt: skip
async def terms(item: ff.ItemWork) -> dict[str, Any]:
    """Collect names and terms, with a proposed translation, and a summary of one section."""
    from fanfold.apps.proofread.stages.collecting import collected

    return await collected(item, Options.of_translate(item.options))


@translate.merge(name="glossary", phase="glossary", ready="queued", doing="running", retrying="running", timeout=900)
async def glossary(task: ff.TaskWork, results: ff.Results) -> dict[str, Any]:
    """Join the terms of all sections, and make a synopsis of the book."""
    from fanfold.apps.proofread.stages.collecting import joined_terms, synopsis

    options = Options.of_translate(task.options)
    return {"terms": len(joined_terms(results, options)), "synopsis": await synopsis(task, results, options)}


@translate.split(name="validate", gate=True, ready="queued", doing="running", retrying="running", timeout=900)
async def validate(task: ff.TaskWork) -> list[ff.NewItem]:
    """Read the book and divide it into chunks, each with the terms that occur in it."""
    from fanfold.apps.proofread.glossary import terms_in
    from fanfold.apps.proofread.stages.collecting import joined_terms
    from fanfold.apps.proofread.stages.validating import items, named_file, validated

    options = Options.of_translate(task.options)
    known = joined_terms(task.results("terms"), options)
    made = (task.output("glossary") or {}).get("synopsis", "")
    inputs = await task.in_child(validated, await asyncio.to_thread(named_file, task), options)
    for given in inputs:
        text = "\n".join(entry["before"] for entry in given["entries"])
        found = terms_in(text, known)
        given |= {"terms": [[one.source, one.target, one.kind, one.note] for one in found]} if found else {}
        given |= {"synopsis": made} if made else {}
    return list(items(inputs))


@translate.each(name="process", gate=True, ready="queued", doing="running", timeout=3_600, retry=ff.Retry(limit=3))
async def process(item: ff.ItemWork) -> dict[str, Any]:
    """Have a model translate one chunk, and check every paragraph of its answer."""
    from fanfold.apps.proofread.stages.processing import processed

    return await processed(item, Options.of_translate(item.options))


@translate.merge(
    name="merge", gate=True, ready="queued", doing="running", retrying="running", timeout=900, quiet_seconds=QUIET_SECONDS
)  # fmt: skip
def merge(task: ff.TaskWork, results: ff.Results) -> dict[str, Any]:
    """Write the translated book from its chunks and the decisions about them."""
    from fanfold.apps.proofread.stages.merging import merged

    return merged(task, results, Options.of_translate(task.options))
