"""Words and numbers by which headings are recognised, and those of captions, dates and names that are none."""

from __future__ import annotations

import re

NUMBERING = re.compile(
    r"(?:(?:chapter|section|part|appendix)\s+)?([0-9]{1,3}(?:\.[0-9]{1,3})*|[A-Z])[.):]?\s+(?=\S)", re.IGNORECASE
)
DEPTH = re.compile(r"(?:§\s*)?(\d{1,3}(?:\.\d{1,3}){0,4})\.?\s+\S")
NUMBERED = re.compile(
    r"(?:§+\s*)?(?:\d{1,2}(?:\.\d{1,3}){1,4}\.?|\d{1,2}\.?|[IVX]{1,5}\.|[A-H]\.(?:\d{1,2}\.?)*)\s+(?=[^\W\d_])"
    r"|(?:chapter|section|part|appendix|annex|article|kapitel|abschnitt|anhang)\s+(?:\d{1,3}|[IVXLA-H]{1,5})\b"
    r"|第[\d一二三四五六七八九十百]{1,4}[章节部篇回條条]",
    re.IGNORECASE,
)
WELL_KNOWN = re.compile(
    r"(?:\W*(?:\d{1,2}|[IVX]{1,4})\.?\s+)?(?:abstract|summary|executive summary|introduction|contents|table of contents"
    r"|references|bibliography|works cited|acknowledge?ments?|conclusions?|related works?|discussion|methods|results"
    r"|materials and methods|results and discussion|background|appendix|appendices|glossary|index|preface|foreword|abbreviations"
    r"|zusammenfassung|einleitung|literatur(?:verzeichnis)?|inhalt(?:sverzeichnis)?|anhang|résumé|sommaire|bibliographie|摘\s*要|目\s*[录錄次]"
    r"|引\s*言|结\s*论|参考文献|致\s*谢|附\s*录|はじめに|まとめ)",
    re.IGNORECASE,
)
CAPTION = re.compile(
    r"(?:table|figure|fig\.?|tab\.|abb\.|abbildung|tabelle|listing|algorithm|scheme|plate|exhibit|chart|图|表|図)\s*"
    r"(?:[\dIVX]+|[A-Z])(?:[.\-]\d+)*\b",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"@|https?://|www\.|\bdoi\b", re.IGNORECASE)
DATE = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+)?(?:\d{1,2}\s+)?(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december)\s+\d{1,4}(?:,?\s+\d{4})?",
    re.IGNORECASE,
)
STATEMENT = re.compile(
    r"(?:theorem|lemma|definition|proposition|corollary|remark|proof|example|exercise|claim|conjecture|note|satz|beweis|定理|引理)"
    r"(?:\s*\d+(?:\.\d+)*|\s+(?-i:[A-Z])\b)?(?:\s*\(.*\))?[.:]?(?:\s|$)",
    re.IGNORECASE,
)
"""How a statement of mathematics begins, which is bold but no heading."""
VALUE = re.compile(r"[^:：]{1,40}[:：]\s*(?=[^:]*\d)[\d\s.,/%$€£¥+-]*(?:[A-Za-z]{1,4})?[\d\s.,/%$€£¥+-]*")
"""A label and its value, such as "Total: 1,204.50 EUR"."""
VERSION = re.compile(r"\b(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}\b|\bv(?:ersion)?\.?\s?\d+\.\d", re.IGNORECASE)
AFFILIATION = re.compile(
    r"\b(?:university|institute|department|dept\.|laborator(?:y|ies)|school of|college|faculty|hospital|academy"
    r"|research cent(?:er|re)|universit[àätéyd]\w*|institut"
    r"|fakultät|hochschule|école|istituto|inc\.|ltd\.?|gmbh|大学|学院|研究所)",
    re.IGNORECASE,
)
"""Where authors work."""
_PARTICLES = frozenset(
    ("van", "von", "de", "der", "den", "di", "da", "du", "la", "le", "el", "al", "and", "und", "et", "y", "&")
)
CONTENTS_ENTRY = re.compile(r"(?:\d+(?:\.\d+)*\.?|[A-Z]\.?|[IVX]+\.?)\s.*\s\d{1,4}")


def is_names(text: str) -> bool:
    """Whether a text may be the names of authors: two to a dozen capitalised words and particles, and nothing else."""
    words = re.sub(r"[\d*†‡∗§¶,;]+", " ", text).split()
    return 2 <= len(words) <= 14 and all(word in _PARTICLES or word[0].isupper() for word in words)
