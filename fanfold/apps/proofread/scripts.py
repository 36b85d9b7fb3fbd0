"""Detects writing systems by Unicode range: rules, chunk sizes, diffs and checks depend on the script of a text."""

from __future__ import annotations

import re
from collections.abc import Mapping

HAN = r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
KANA = r"\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
CJK = HAN + KANA
"""Chinese and Japanese letters for a regular expression character class, without its brackets."""

SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "han": re.compile(f"[{HAN}]+"),
    "kana": re.compile(f"[{KANA}]+"),
    "hangul": re.compile(r"[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]+"),
    "latin": re.compile(r"[A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]+"),
    "greek": re.compile(r"[\u0370-\u0373\u0376-\u037d\u0386-\u03ff\u1f00-\u1fff]+"),
    "cyrillic": re.compile(r"[\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f]+"),
    "hebrew": re.compile(r"[\u0590-\u05ff]+"),
    "arabic": re.compile(r"[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefe]+"),
    "devanagari": re.compile(r"[\u0900-\u097f]+"),
    "thai": re.compile(r"[\u0e00-\u0e7f]+"),
}

LANGUAGES: Mapping[str, frozenset[str]] = {
    "zh": frozenset({"han"}),
    "ja": frozenset({"han", "kana"}),
    "ko": frozenset({"hangul"}),
    "el": frozenset({"greek"}),
    "he": frozenset({"hebrew"}),
    "th": frozenset({"thai"}),
    "hi": frozenset({"devanagari"}),
    "mr": frozenset({"devanagari"}),
    "ne": frozenset({"devanagari"}),
    **dict.fromkeys(("ru", "uk", "bg", "be", "mk", "kk", "mn"), frozenset({"cyrillic"})),
    **dict.fromkeys(("ar", "fa", "ur"), frozenset({"arabic"})),
    **dict.fromkeys(
        (
            "en",
            "de",
            "fr",
            "es",
            "it",
            "pt",
            "nl",
            "sv",
            "da",
            "no",
            "fi",
            "pl",
            "cs",
            "sk",
            "hu",
            "ro",
            "tr",
            "vi",
            "id",
        ),
        frozenset({"latin"}),
    ),
}
"""The scripts that a language is written in, by its two-letter code."""

NAMES: Mapping[str, str] = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "pt-br": "Brazilian Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sv": "Swedish",
    "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Simplified Chinese",
    "zh-hant": "Traditional Chinese", "zh-hk": "Traditional Chinese", "zh-tw": "Traditional Chinese",
}  # fmt: skip
"""English names of languages, for models."""

_CJK = re.compile(f"[{CJK}]")
_DENSE = re.compile(f"[{CJK}\u1100-\u11ff\uac00-\ud7ff]+")
_LETTERS = re.compile(r"[^\W\d_]+")


def has_cjk(text: str) -> bool:
    """Whether the text has at least one Chinese or Japanese letter."""
    return _CJK.search(text) is not None


def mostly_cjk(text: str, share: float = 0.3) -> bool:
    """Whether Chinese, Japanese or Korean letters make up at least ``share`` of the letters."""
    letters = sum(map(len, _LETTERS.findall(text)))
    return letters > 0 and sum(map(len, _DENSE.findall(text))) >= share * letters


def script_counts(text: str) -> dict[str, int]:
    """The number of letters by script, without the scripts that do not occur."""
    counts = {name: sum(map(len, pattern.findall(text))) for name, pattern in SCRIPTS.items()}
    return {name: count for name, count in counts.items() if count}


def share_in_language(text: str, language: str) -> float | None:
    """The share of letters in the script of a language; None if the language is unknown or the text has no letters."""
    wanted = LANGUAGES.get(language.casefold().replace("_", "-").partition("-")[0])
    counts = script_counts(text)
    total = sum(counts.values())
    if wanted is None or not total:
        return None
    return sum(count for name, count in counts.items() if name in wanted) / total


def language_of(text: str) -> str:
    """The language of a text, judged by its script: `zh`, `ja`, `ko`, `ru`, … or `und` if several languages share it."""
    counts = script_counts(text)
    if not counts:
        return "und"
    if counts.get("kana", 0) * 5 > counts.get("han", 0):
        return "ja"
    usual = max(counts, key=lambda one: counts[one])
    fitting = [code for code, scripts in LANGUAGES.items() if scripts == {usual}]
    return fitting[0] if len(fitting) == 1 else "und"


def language_name(code: str) -> str:
    """How a language is called in a question to a model: `Simplified Chinese (zh)`; the code itself if it is not known."""
    plain = code.strip().casefold().replace("_", "-")
    name = NAMES.get(plain) or NAMES.get(plain.partition("-")[0])
    return f"{name} ({code.strip()})" if name else code.strip()
