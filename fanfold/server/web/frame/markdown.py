"""Shows untrusted Markdown: renders it, then keeps only a short list of harmless elements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

MOST_CHARACTERS = 200_000
"""Longest text rendered, which takes a second or less; longer texts are shown as source."""
MOST_MARKS = 10_000
"""Most lines, brackets, tags or stars in a rendered text: 50 000 of them, crafted to be slow, take many seconds."""
COUNTED = ("\n", "[", "<", "*", "_", "~", "`")
MOST_TOGETHER = 30_000
"""Most marks of all kinds, including table cells, quotes and nested lists; these take a second or less."""
ALL_COUNTED = (*COUNTED, "|", "\t", "> ", "- ", "+ ", ". ", ") ")
TAGS = {
    "a", "b", "blockquote", "br", "caption", "code", "dd", "del", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6",
    "hr", "i", "kbd", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "u", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href"}, "td": {"colspan", "rowspan", "align"}, "th": {"colspan", "rowspan", "align"}}
DROPPED_WHOLE = {"script", "style", "svg", "math", "iframe", "object", "template", "noscript", "textarea", "title"}
"""Elements dropped with their content; other unknown elements keep their text."""
HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
"""A heading after cleaning: without attributes."""
SCHEMES = {"http", "https", "mailto"}
MOST_SPANNED = 1_000


def rendered(text: str) -> Markup | None:
    """The text as harmless HTML; None if it is too long to render."""
    if is_too_much(text):
        return None
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        _align(token)
    return harmless(parser.renderer.render(tokens, parser.options, {}))


@dataclass(frozen=True)
class Heading:
    """A heading of a rendered text: its level, its text as harmless HTML, and its anchor."""

    level: int
    text: Markup
    anchor: str


def with_contents(text: str, prefix: str, below: int = 0) -> tuple[Markup, tuple[Heading, ...]] | None:
    """The text as harmless HTML with anchors on its headings, and the headings; None if it is too long.

    Headings are moved ``below`` levels down, under the page's own. Anchors are added after cleaning, so that the text
    cannot bring its own.
    """
    if (html := rendered(text)) is None:
        return None
    found: list[Heading] = []

    def anchored(match: re.Match[str]) -> str:
        level, inner = int(match[1]), match[2]
        said = Markup(nh3.clean(inner, tags=set()).strip())
        anchor = f"{prefix}{len(found) + 1}"
        if said:
            found.append(Heading(level, said, anchor))
        deep = min(level + below, 6)
        return f'<h{deep} class="level-{level}" id="{anchor}">{inner}</h{deep}>'

    return Markup(HEADING.sub(anchored, html)), tuple(found)


def is_too_much(text: str) -> bool:
    """Whether rendering could take too long."""
    if len(text) > MOST_CHARACTERS or max(map(text.count, COUNTED)) > MOST_MARKS:
        return True
    return sum(map(text.count, ALL_COUNTED)) > MOST_TOGETHER


def harmless(html: str) -> Markup:
    """The HTML without anything that is not on the list."""
    cleaned = nh3.clean(
        html,
        tags=TAGS,
        clean_content_tags=DROPPED_WHOLE,
        attributes=ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
        strip_comments=True,
    )
    return Markup(cleaned)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True, "maxNesting": 20}).enable(["table", "strikethrough"])


def _align(token: Token) -> None:
    """The page allows no style attributes, so column alignment becomes a separate attribute."""
    style = token.attrs.pop("style", None)
    if isinstance(style, str) and style.startswith("text-align:"):
        token.attrs["align"] = style.removeprefix("text-align:")


def _kept(tag: str, name: str, value: str) -> str | None:
    """The value of an allowed attribute, or None to drop it."""
    if name == "href":
        try:
            return value if urlsplit(value.strip()).scheme.lower() in SCHEMES else None
        except ValueError:
            return None
    if name in ("rel", "target"):  # Always replaced: both are set for every link.
        return value
    if name == "align":
        return value if value in ("left", "right", "center") else None
    return value if value.isdecimal() and 0 < int(value[:6]) <= MOST_SPANNED else None
