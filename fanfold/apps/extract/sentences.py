"""Messages of the application, by code, in English and Chinese."""

from __future__ import annotations

import fanfold as ff
from fanfold.apps.extract.chinese import SENTENCES
from fanfold.apps.extract.documents.document_sentences import CHINESE as DOCUMENTS_IN_CHINESE
from fanfold.apps.extract.documents.document_sentences import ENGLISH as DOCUMENTS
from fanfold.apps.extract.table.table_sentences import CHINESE as TABLE_IN_CHINESE
from fanfold.apps.extract.table.table_sentences import ENGLISH as TABLE

ENGLISH: dict[str, str] = {
    # Templates.
    "no_fields": (
        "The template has no fields. Write one line for each, such as "
        "`sample_size: integer — How many people took part?`"
    ),
    "template_long": "The template has more than {most} characters. Shorten it.",
    "template_unreadable": (
        "The template cannot be read: {why:bare}. Write it in YAML, as a JSON Schema, or as a CSV header with a second row "
        "of questions."
    ),
    "not_a_mapping": "it does not name any fields",
    "at_line": "line {line}: {why:bare}",
    "field_twice": "The field {name} occurs twice. Give every field a name of its own.",
    "bad_name": (
        "{name!r} cannot be the name of a field. Use 1 to 100 characters on one line, and quotes around words such as yes or no."
    ),
    "bad_type": (
        "The field {name} has the type {type!r}. Use string, integer, number, boolean, date, doi, a list such as string[], "
        "or choices such as yes | no."
    ),
    "unknown_setting": "The field {name} has the setting {setting!r}, which does not exist. Remove it.",
    "unknown_setting_near": "The field {name} has the setting {setting!r}, which does not exist. Did you mean {near}?",
    "bad_choice": "The field {name} has {setting}: {value}. Choose {choices:or}.",
    "bad_reduce": "The field {name} has reduce: {reduce}, which needs the type {types:or}. Change one of them.",
    "bad_normalise": "The field {name} has normalise: {form}, which needs the type {types:or}. Change one of them.",
    "no_unit": "The field {name} has normalise: unit and names no unit. Add one, such as unit: mg",
    "bad_enum": "The choices of the field {name} cannot be used. List at least one, each once: text, or numbers.",
    "bad_alias": (
        "The alias {alias!r} of the field {name} stands for {value!r}, which is not among its choices. Add the choice, "
        "or correct the alias."
    ),
    "bad_limits": "The limits of the field {name} cannot be used: {why:bare}. Correct them.",
    "bad_rule": ("The rule {rule!r} cannot be read. Compare fields, numbers and texts, as in n_total >= n_treated."),
    "rule_names": "The rule {rule!r} names {name}, which is not a field. The fields are {known}.",
    "many_row_fields": (
        "{count} fields have scope: row, but at most {most} can be asked together. Give some of them scope: document."
    ),
    "many_fields": "The template has more than {most} fields. Split it into several.",
    "csv_questions": (
        "The CSV has {columns} {columns:column|columns} and {questions} {questions:question|questions}. "
        "Give its second row one question for each column."
    ),
    "schema_root": "The JSON Schema must describe an object with `properties`. Name the fields there.",
    "schema_field": "The field {name} of the JSON Schema is not an object. Write its type and description.",
    "schema_keyword": (
        "The field {name} of the JSON Schema uses {keyword}, which services do not accept. Use one type, an enum, or a union "
        "with null."
    ),
    "schema_types": "The field {name} of the JSON Schema has several types: {types}. Choose one; null is always allowed.",
    "schema_recursive": "The field {name} of the JSON Schema contains itself. Name the levels that you need.",
    "schema_reference": (
        "The field {name} of the JSON Schema refers to {reference}, which is not in it. Put the definition under $defs."
    ),
    "schema_deep": "The field {name} of the JSON Schema is nested deeper than {most} levels. Flatten it.",
    # Values.
    "not_a_number": "{value!r} is not one number",
    "other_unit": "{value!r} cannot be converted to {unit}",
    "not_a_date": "{value!r} is not a date, or day and month could be either way round",
    "not_a_doi": "{value!r} is not a DOI",
    # Cells.
    "not_json": "it is not JSON",
    "not_answered": "the model did not answer this field",
    "not_reported": "the document does not state it",
    "not_applicable": "the question does not apply to the document",
    "unclear": "the model calls it unclear",
    "no_quote": "the model gave no quote",
    "quote_not_there": "the quote is not in the document",
    "quote_weak": "the quote is only similar to the document ({score} of 100)",
    "not_in_quote": "{value!r} is not in its quote",
    "words_not_in_quote": "most of its words are not in its quote",
    "windows_differ": "parts of the document give {count} different values",
    "second_agrees": "{model} gives the same value",
    "second_differs": "{model} gives another value",
    "second_without_row": "{model} does not give this row",
    "second_row": "only {model} gives this row",
    "opinion_failed": "no second opinion from {model}: {why:bare}",
    "rule_broken": "the rule {rule} is broken: {values}",
    "cells_weak": "{count} weak",
    "cells_unsupported": "{count} unsupported",
    "cells_invalid": "{count} invalid",
    "cells_conflict": "{count} in conflict",
    "doubtful_cells": "cells to look at: {cells}",
    # Tasks.
    "no_template": (
        "An extraction needs a template: the fields to extract, or the name of a kept template[[, with --template "
        "fields.yaml; to have one drafted: "
        'fanfold extract --suggest "what I study" paper.pdf]]'
    ),
    "local_has_no_models": "An extraction asks a model, and `local` is not one. Choose a provider.",
    "no_libraries": "Extraction needs libraries that are not installed: pip install 'fanfold[extract]'",
    "no_pages_to_draw": "This document has no pages that can be shown as pictures.",
    "no_documents_named": "Name the documents: files, folders, patterns, ZIP archives or a manifest.",
    "bad_documents": (
        "The list `{name}` cannot be used. Each entry has a `key` and the position of its `file`; or leave the list out."
    ),
    "no_document_given": "The item has no document. Give it a `text`, or submit a file.",
    "no_documents": "There are no documents in {paths}. Name PDF, Word, HTML, Markdown or text files, or folders with them.",
    "nothing_readable": "None of the documents can be read. {reasons:then}",
    "table_ending": "{file} cannot be the table: its name must end with {endings:or}.",
    "template_mistakes": "The template {file} cannot be used. {mistakes:then}",
    "template_not_found": (
        "There is no template {name}: no such file, and no stored template with this name[[. To see them: fanfold templates]]"
    ),
    "not_utf8": "It is not text in UTF-8.",
    "no_sample": "Name one to three documents from which the template is drafted.",
    "no_model": "{place} is not a model: {why:bare}. Write module:Class.",
    "kept_as": "{file} was edited, or not written by Fanfold; it is kept as {name}.",
    "table_summary": "{rows} {rows:row|rows}, {columns} {columns:column|columns}; cells: {cells}",
    "look_at_doubtful": "Look at the doubtful cells on the web page[[: fanfold serve, then open task {task}]]",
    # Actions.
    "no_records": "No model has been asked about any document of this task, so its columns cannot be changed. Submit it again.",
    "nothing": "none",
    "columns_changed": (
        "The table now has {columns} {columns:column|columns}. Columns to ask for in {documents} "
        "{documents:document|documents}: {asked}"
    ),
    "redo_what": "Say which cells to ask for again: columns, documents or a state.",
    "cells_redone": "{cells} {cells:cell|cells} of {documents} {documents:document|documents} will be asked for again",
    "which_model": "Name the model for the second opinion.",
    "opinion_asked": "{model} is asked about {cells} {cells:cell|cells} of {documents} {documents:document|documents}",
    "no_such_column": "There is no column {name}. The columns are {known}.",
    "no_such_cells": "There are no such cells. Choose other columns, documents or another state.",
    "gold_column": (
        "{name}: {percent} % right ({right} of {total}), {wrong} wrong, {missing} missing, {invented} invented"
    ),
    "gold_unmatched": "not in the table: {names}",
    "gold_compared": "{columns:;}",
}
say_of_extract = ff.Catalogue(
    "extract", ENGLISH | DOCUMENTS | TABLE, {"zh": SENTENCES | DOCUMENTS_IN_CHINESE | TABLE_IN_CHINESE}
)
"""Builds a message of the application."""
