"""Finds what a translation left in the language of its source, and Chinese in the other kind of characters."""

from __future__ import annotations

import re

from fanfold.apps.proofread.scripts import LANGUAGES, SCRIPTS, script_counts

LEAST_DENSE, LEAST_LETTERS = 4, 15
"""Length of a copied passage that is noticed: in scripts without blanks between words, and in others."""
DENSE = frozenset({"han", "kana", "hangul", "thai"})
WEIGHT = 3
"""Letters of an alphabet that say as much as one character of a dense script."""

_TRADITIONAL = frozenset(
    "這個們來為國說時會對發後過種經學現當沒動開還進樣實從軍無與長機關點業將兩間問應戰頭體見產話門東聲員論處義條氣題變總電數報結場計資區隊邊張該萬覺術領傳師觀讓識帶導爭運"
)
_SIMPLIFIED = frozenset(
    "这个们来为国说时会对发后过种经学现当没动开还进样实从军无与长机关点业将两间问应战头体见产话门东声员论处义条气题变总电数报结场计资区队边张该万觉术领传师观让识带导争运"
)
FEW_CHARACTERS = 3


def copied(source: str, answer: str, language: str) -> tuple[str, float]:
    """The longest passage of the source left in the answer, in a script of another language, and the share of such passages."""
    wanted = LANGUAGES.get(language.casefold().replace("_", "-").partition("-")[0])
    counts = script_counts(source)
    if wanted is None or not counts:
        return "", 0.0
    main = max(counts, key=lambda one: counts[one])
    if main in wanted:
        return "", 0.0
    least = LEAST_DENSE if main in DENSE else LEAST_LETTERS
    found = [one for one in _passages(answer, main) if len(one) >= least and one in source]
    if not found:
        return "", 0.0
    own = script_counts(answer)
    weights = {name: count * (WEIGHT if name in DENSE else 1) for name, count in own.items()}
    left = sum(map(len, found)) * (WEIGHT if main in DENSE else 1)
    return max(found, key=len), min(1.0, left / max(1, sum(weights.values())))


def other_characters(answer: str, language: str) -> bool:
    """Whether Chinese is written in the characters of the other kind: traditional instead of simplified, or the reverse."""
    code = language.casefold().replace("_", "-")
    if code.partition("-")[0] != "zh":
        return False
    is_traditional = code.endswith(("-hant", "-tw", "-hk", "-mo")) or "-hant-" in code
    right, wrong = (_TRADITIONAL, _SIMPLIFIED) if is_traditional else (_SIMPLIFIED, _TRADITIONAL)
    both = _TRADITIONAL & _SIMPLIFIED
    bad = sum(one in wrong and one not in both for one in answer)
    good = sum(one in right and one not in both for one in answer)
    return bad >= FEW_CHARACTERS and bad > 2 * good


def _passages(text: str, script: str) -> list[str]:
    """The passages of a text in one script; blanks and punctuation between words belong to them."""
    if script in DENSE:
        return SCRIPTS[script].findall(text)
    word = SCRIPTS[script].pattern
    return re.findall(rf"(?:{word})(?:[ ,.'’-]{{1,2}}(?:{word}))*", text)
