"""How is Markdown shown that nobody has checked? Rendered, then reduced to a short list of harmless elements."""

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
"""Longer texts are shown as they are; so much takes a second or less."""
MOST_MARKS = 10_000
"""So are texts with more lines, brackets, tags or stars than that: made to be slow, 50 000 of them take many seconds."""
COUNTED = ("\n", "[", "<", "*", "_", "~", "`")
MOST_TOGETHER = 30_000
"""Cells of tables, quotes and nested lists take time as well; so many marks of all kinds take a second or less."""
ALL_COUNTED = (*COUNTED, "|", "\t", "> ", "- ", "+ ", ". ", ") ")
TAGS = {
    "a", "b", "blockquote", "br", "caption", "code", "dd", "del", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6",
    "hr", "i", "kbd", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "u", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href"}, "td": {"colspan", "rowspan", "align"}, "th": {"colspan", "rowspan", "align"}}
DROPPED_WHOLE = {"script", "style", "svg", "math", "iframe", "object", "template", "noscript", "textarea", "title"}
"""Of these nothing is kept, of other unknown elements their text."""
HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
"""As the cleaning leaves it: without attributes."""
SCHEMES = {"http", "https", "mailto"}
MOST_SPANNED = 1_000


def rendered(text: str) -> Markup | None:
    """The text as harmless HTML; None when it is too long to be rendered."""
    if is_too_much(text):
        return None
    parser = _parser()
    tokens = parser.parse(text)
    for token in tokens:
        _align(token)
    return harmless(parser.renderer.render(tokens, parser.options, {}))


@dataclass(frozen=True)
class Heading:
    """A heading of a rendered text: how deep it stands, what it says, as harmless HTML, and where it is."""

    level: int
    text: Markup
    anchor: str


def with_contents(text: str, prefix: str, below: int = 0) -> tuple[Markup, tuple[Heading, ...]] | None:
    """The text as harmless HTML whose headings can be jumped to, and the headings; None when it is too long.

    The headings stand ``below`` so many levels of the page's own. Anchors are set behind the cleaning, so that no text can
    bring one of its own.
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
    """Whether rendering it could take longer than a reader should wait."""
    if len(text) > MOST_CHARACTERS or max(map(text.count, COUNTED)) > MOST_MARKS:
        return True
    return sum(map(text.count, ALL_COUNTED)) > MOST_TOGETHER


def harmless(html: str) -> Markup:
    """What is left of the HTML when everything is gone that is not on the list."""
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
    """The page allows no style attributes: the alignment of a column becomes an attribute of its own."""
    style = token.attrs.pop("style", None)
    if isinstance(style, str) and style.startswith("text-align:"):
        token.attrs["align"] = style.removeprefix("text-align:")


def _kept(tag: str, name: str, value: str) -> str | None:
    """The value of an attribute on the list, if it may stay."""
    if name == "href":
        try:
            return value if urlsplit(value.strip()).scheme.lower() in SCHEMES else None
        except ValueError:
            return None
    if name in ("rel", "target"):  # Never what was there: both are set for every link.
        return value
    if name == "align":
        return value if value in ("left", "right", "center") else None
    return value if value.isdecimal() and 0 < int(value[:6]) <= MOST_SPANNED else None
