"""Messages of the application, by code, in English and Chinese."""

from __future__ import annotations

import fanfold as ff
from fanfold.apps.proofread.chinese import CHINESE

ENGLISH: dict[str, str] = {
    "unknown_encoding": "There is no encoding {encoding!r}. Use a name such as utf-8, gb18030, big5, shift_jis or utf-16.",
    "not_encodable": (
        "{file} is in {encoding}, which has no character {character!r} ({code}). Write the result in UTF-8"
        "[[: --encoding utf-8]]."
    ),
    "broken_bytes": (
        "{count} {count:place|places} in {file} {count:is|are} not valid {encoding}; the first is at byte {first}. "
        "The bytes stay as they are, and a paragraph with many of them is not sent. If much of the text looks wrong, name "
        "its encoding[[: --source-encoding gb18030]]."
    ),
    "stateful_encoding": "{file} is in {encoding}. Save a Markdown file in UTF-8 and start again.",
    "code_kept": (
        "{count} {count:passage|passages} of code in {file} {count:was|were} kept as {count:it is|they are}, and not sent. "
        "The first begins with {first!r}."
    ),
    "html_kept": (
        "{count} {count:block|blocks} of HTML in {file} {count:was|were} kept as {count:it is|they are}, and not sent. "
        "The text of the first begins with {first!r}."
    ),
    "drawings_kept": (
        "{count} {count:chart or diagram|charts and diagrams} in {file} {count:was|were} kept as {count:it is|they are}; "
        "the text in {count:it|them} was not sent."
    ),
    "empty_file": "{file} is empty (0 bytes). Was it copied completely?",
    "no_text": "{file} has no text that could be read. Is it the right file?",
    "binary_file": "{file} is not a text file: it looks like {kind:word}. Give a TXT, Markdown, EPUB or DOCX file.",
    "wrong_ending": "{file} looks like {kind:word}, which does not match its extension. Rename it to {ending} and start again.",
    "unknown_ending": "{file} has an unknown extension. Give a .txt, .md, .epub or .docx file.",
    "file_changed": "{file} has changed since it was read. Start again with the new file.",
    "read_differently": (
        "This task was begun by a version of Fanfold that reads {file} differently. Start it again[[: fanfold rerun ID]]; "
        "answers from the cache cost nothing."
    ),
    "not_a_file": "{file} cannot be read: {why:bare}.",
    "too_large": "{file} is {size:size}, but the limit is {limit:size}. Split it into several files.",
    "damaged_archive": (
        "{file} is not a valid {format} file, or is damaged: it cannot be opened. Save or download it again."
    ),
    "unknown_rule": "There is no rule {rule!r}. The rules are {rules}.",
    "chunks_incomplete": "The chunks of the text lack block {block}. This is a bug in Fanfold; nothing was sent.",
    "unknown_mode": "There is no mode {mode!r}. The modes are {modes}.",
    "glossary_line": "Line {line} of the glossary has no term in its first column. Give a CSV with the columns source,target.",
    "glossary_twice": "Line {line} of the glossary repeats {term} with a translation other than {first}. Keep one of them.",
    "letters_changed": (
        "from character {at} on (after {before!r}), letters or digits differ: the source has {source!r}, the answer {answer!r}"
    ),
    "symbols_lost": "these symbols of the source are missing: {symbols}",
    "empty_answer": "the answer is empty",
    "markers_lost": "these markers are missing: {markers}",
    "markers_added": "these markers were added or repeated: {markers}",
    "markers_garbled": "a marker is garbled, or the markers overlap",
    "emphasis_changed": "marks of emphasis such as ** were lost or added: the source has {before}, the answer {after}",
    "too_many_changes": "more than {allowed} of {size} characters were changed",
    "numbers_changed": "numbers were changed: missing {lost}, new {added}",
    "numbers_moved": "numbers changed places: {before} became {after}",
    "words_joined": "words were joined: {word!r}",
    "punctuation_lost": "most of the punctuation is missing",
    "left_over": "a passage of the source was left as it is: {passage!r}",
    "other_characters": "the Chinese characters are not those of {language}: traditional instead of simplified, or the reverse",
    "names_changed": "these names were changed: {names}",
    "length_unusual": "the answer has {size} {size:character|characters}, the source {source}",
    "wrong_script": "only {percent} % of the answer is in the script of {language}",
    "not_translated": "the answer is the source itself",
    "glossary_ignored": "these terms of the glossary were not used: {terms}",
    "repetition": "{phrase!r} is repeated {count} times",
    "chatter": "the answer begins with a remark instead of the text: {line!r}",
    "quotes_lost": "the quotation marks of the source are missing",
    "cut_off": "the answer was cut off at the length limit",
    "refused": "the model refused to answer",
    "ids_missing": "these paragraphs are missing: {ids}",
    "ids_unknown": "these paragraphs were not asked for: {ids}",
    "ids_twice": "these paragraphs came more than once: {ids}",
    "no_structure": "the answer does not have the requested format",
    "wrong_markers": "The markers of a paragraph are not those of its source, so it cannot be written: {text!r}",
    "damaged_member": "{member} in {file} is missing or damaged. Save or download the file again.",
    "zip_bomb": "{file} would unpack to {size} MB or more, far more than a book needs. It is not opened.",
    "locked_archive": "{file} is protected by a password. Save it without one and start again.",
    "locked_book": "{file} is protected against copying (DRM), so its text cannot be read. Use a copy without protection.",
    "no_libraries": "Proofreading and translation need libraries that are not installed: pip install 'fanfold[proofread]'",
    "no_language": "A translation needs the language to translate into, such as en, zh or pt-BR[[: --to zh]].",
    "bad_language": "{language!r} is not the code of a language. Use one such as en, zh or pt-BR.",
    "one_file": "Give one book: a TXT, Markdown, EPUB or DOCX file.",
    "gaps": (
        "{count} {count:paragraph keeps|paragraphs keep} the source text ({paragraphs}), because no answer was acceptable: "
        "{why:bare}"
    ),
    "other_model": "the first model could not do all paragraphs; answered by {models}",
    "decisions_torn": "the decisions about this paragraph would tear its formatting apart; it keeps its source text",
    "no_terms": "no names and terms could be collected from this section: {why:bare}",
    "no_synopsis": "the synopsis of the book could not be made: {why:bare}",
    "no_changes": "Task {task} is a task of {pipeline}, which lists no changes. Name a task of proofread or translate.",
    "nothing_to_decide": "No change matches, or all matching changes already have this decision.",
    "changes_decided": "{count} {count:change|changes}: {verdict}",
    "glossary_empty": "The glossary has no terms. Give a CSV with the columns source,target.",
    "glossary_approved": "The translation will use {terms} {terms:term|terms}, {added} of them new. Resume the task to continue.",
    "glossary_kept": "No paragraph breaks this glossary, so nothing is asked again.",
    "glossary_redone": "{chunks} {chunks:chunk breaks|chunks break} this glossary and {chunks:is|are} asked again",
    "no_sections": (
        "No terms were collected for this task. Give the glossary when you start a translation[[: --glossary terms.csv]]."
    ),
    "unknown_block": "There is no block {block} in {file}.",
}
say_of_proofread = ff.Catalogue("proofread", ENGLISH, {"zh": CHINESE})
"""Builds a message of the application."""
