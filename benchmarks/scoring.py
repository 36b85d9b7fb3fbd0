"""Scores the completeness of a conversion in words and headings, whatever Markdown is around them."""

import html
import re
import unicodedata
from collections import Counter


def plain(markdown: str) -> str:
    """The text without marks of Markdown and HTML, folded to one case and one form."""
    text = re.sub(r"<!--.*?-->", " ", markdown, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"</?[a-zA-Z][^>]*>", " ", html.unescape(text))
    text = re.sub(r"^```\w*$", " ", text, flags=re.MULTILINE)
    return unicodedata.normalize("NFKC", re.sub(r"[*`\\]", "", text)).casefold()


def words(markdown: str) -> Counter[str]:
    """How often each word occurs; a Chinese or Japanese character is a word."""
    return Counter(
        re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+", plain(markdown))
    )


def headings(markdown: str) -> Counter[str]:
    """The headings of any level, as their words in order."""
    lines = re.findall(r"^#{1,6}\s+(.+)$", markdown, flags=re.MULTILINE)
    return Counter(" ".join(re.findall(r"\w+", plain(line))) for line in lines)


def share(part: Counter[str], whole: Counter[str]) -> str:
    """How much of the whole is in the part; a dash if there is nothing to find."""
    total = whole.total()
    return f"{(part & whole).total() / total:.3f}" if total else "–"
