"""Writes Markdown with page marks as one self-contained web page."""

from __future__ import annotations

import html
import re

MARK = re.compile(r"(?:^---\n\n)?^<!-- Page (\d+) -->$", re.MULTILINE)
COMMENT = re.compile(r"^<!-- (.*?) -->$", re.MULTILINE)
STYLE = (
    "body{max-width:80ch;margin:2rem auto;padding:0 1rem;font:16px/1.55 system-ui,sans-serif}"
    "table{border-collapse:collapse}th,td{border:1px solid #bbb;padding:4px 8px;vertical-align:top}"
    "pre{overflow:auto}img{max-width:100%}.page{color:#666;border-top:1px dashed #999;margin-top:2rem}"
)
CODE = re.compile(r"(<code.*?</code>)", re.DOTALL)
TAG = re.compile(r"&lt;(/?(?:su[bp]|table|tr|t[dh])|br|t[dh](?: (?:row|col)span=&quot;\d{1,4}&quot;){1,2})&gt;")
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def web_page(text: str, title: str) -> str:
    """One web page. Raw HTML in the Markdown is shown as text, except superscripts and tables without any attributes but spans.

    Page marks and missing pages become visible lines.
    """
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])

    def render(part: str) -> str:
        return _with_tags(markdown.render(part))

    parts = [
        f'<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n"
    ]
    pieces = MARK.split(FRONT_MATTER.sub("", text))
    parts.append(render(_without_comments(pieces[0])))
    for number, text in zip(pieces[1::2], pieces[2::2], strict=True):
        parts.append(f'<p class="page" id="page-{number}">{number}</p>\n')
        parts.append(render(_without_comments(text)))
    parts.append("</body>\n</html>\n")
    return "".join(parts)


def _with_tags(page: str) -> str:
    """The page, with the harmless tags that a conversion writes as tags; in code they stay text."""
    parts = CODE.split(page)
    parts[::2] = [TAG.sub(lambda tag: f"<{html.unescape(tag[1])}>", part) for part in parts[::2]]
    return "".join(parts).replace("<p><table>", "<table>").replace("</table></p>", "</table>")


def _without_comments(text: str) -> str:
    """Replace comments about missing pages with visible text."""
    return COMMENT.sub(lambda found: f"*{found[1]}*", text)
