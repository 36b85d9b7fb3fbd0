"""Tells which paragraphs of a source are already in the target language, so that a translation may leave them as they are.

Only the source is judged, never the answer: a model that returns the source untranslated does not pass because of it.
"""

from __future__ import annotations

from fanfold.apps.proofread.checks.residue import other_characters
from fanfold.apps.proofread.scripts import LANGUAGES, language_of, script_counts, share_in_language

LEAST_SHARE = 0.9
"""Smallest share of the letters of such a paragraph that are in the script of the language."""
OWN_SCRIPT = frozenset({"zh", "ja", "ko", "el", "he", "th"})
"""Languages that a paragraph can be recognised by. The others share their script."""


def script_of_book(text: str) -> str:
    """The script that a book is mostly written in; `kana` for a Japanese one, although it has more Chinese characters."""
    counts = script_counts(text)
    if language_of(text) == "ja":
        return "kana"
    return max(counts, key=lambda one: counts[one]) if counts else ""


def is_already_in(source: str, language: str, book: str) -> bool:
    """Whether a paragraph is in the target language already, in a book that is mostly in the script ``book``.

    A paragraph in a script of several languages counts only if the book itself is in another script: an English quotation in
    a Chinese book, but no paragraph of a French book. Chinese is not recognised in a Japanese book.
    """
    code = language.casefold().replace("_", "-").partition("-")[0]
    share = share_in_language(source, language)
    if not book or share is None or share < LEAST_SHARE or other_characters(source, language):
        return False
    if code in OWN_SCRIPT:
        return language_of(source) == code and not (code == "zh" and book == "kana")
    return book not in LANGUAGES[code]
