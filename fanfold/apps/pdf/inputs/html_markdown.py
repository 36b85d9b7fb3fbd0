"""Converts web pages to Markdown: headings, paragraphs, lists, tables, links, emphasis, code and quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from fanfold.apps.pdf.inputs.markdown_text import code_block, compact, escaped, table


def _named(tags: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", tags))


_UNSEEN = _named("script style template noscript svg iframe object head select datalist audio video canvas math title")
_EMPTY = _named("area base br col embed hr img input link meta param source track wbr")
_BLOCKS = _named(
    "address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure footer form header html "
    "main nav p section summary caption h1 h2 h3 h4 h5 h6 ul ol li pre table"
)
_EMPHASIS = {"b": "**", "strong": "**", "i": "*", "em": "*", "cite": "*", "s": "~~", "del": "~~"}
_HEADING = re.compile(r"h([1-6])")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_CHARSET = re.compile(rb"""<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s*=\s*["']?([\w-]+)""", re.IGNORECASE)


def decoded(content: bytes) -> str:
    """The text of a page in the encoding of its mark, its head, UTF-8 or Latin-1."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    named = _CHARSET.search(content[:4096])
    for encoding in ((named[1].decode("ascii"),) if named else ()) + ("utf-8-sig", "gb18030"):
        try:
            return content.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("cp1252", "replace")


def html_markdown(text: str) -> tuple[str, str]:
    """The Markdown of a page, and its title."""
    page = _Page()
    page.feed(text)
    page.close()
    page.finish()
    return compact("\n\n".join(page.blocks)), " ".join("".join(page.title).split())


@dataclass
class _List:
    is_numbered: bool
    number: int
    depth: int


@dataclass
class _Table:
    rows: list[list[str]] = field(default_factory=list)
    within: list[str] = field(default_factory=list)
    """The text of the blocks in the open cell."""
    in_cell: bool = False


class _Page(HTMLParser):
    """Collects the blocks of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = []
        self.title: list[str] = []
        self._parts: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._hidden = 0
        self._lists: list[_List] = []
        self._tables: list[_Table] = []
        self._quotes = 0
        self._heading = 0
        self._marker = ""
        self._pre = 0
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        attributes = dict(attrs)
        if tag not in _EMPTY:
            hides = (
                tag in _UNSEEN or "hidden" in attributes or bool(_HIDDEN_STYLE.search(attributes.get("style") or ""))
            )
            self._open.append((tag, hides))
            self._hidden += hides
        if self._hidden:
            return
        if tag in _BLOCKS:
            self.end()
        self._begin(tag, attributes)

    def _begin(self, tag: str, attributes: dict[str, str | None]) -> None:
        if found := _HEADING.fullmatch(tag):
            self._heading = int(found[1])
        elif tag in ("ul", "ol"):
            start = attributes.get("start") or ""
            self._lists.append(_List(tag == "ol", int(start) if start.isdigit() else 1, len(self._lists)))
        elif tag == "li":
            self._marker = self._next_marker()
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "pre":
            self._pre += 1
        elif tag == "table":
            self._tables.append(_Table())
        elif tag in ("tr", "td", "th") and self._tables:
            self._begin_cell(tag)
        else:
            self._begin_inline(tag, attributes)

    def _begin_inline(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag == "br":
            self._parts.append("\n" if self._pre else "  \n")
        elif tag == "hr":
            self.end()
            self.blocks.append("---")
        elif tag == "img" and (alt := " ".join((attributes.get("alt") or "").split())):
            self._parts.append(f"![{escaped(alt)}]({_address(attributes.get('src'))})")
        elif tag == "a":
            self._links.append(_address(attributes.get("href")))
            self._parts.append("\x00[")
        elif tag in _EMPHASIS and not self._pre:
            self._parts.append(f"\x00{_EMPHASIS[tag]}<")
        elif tag in ("code", "kbd", "samp", "tt") and not self._pre:
            self._parts.append("`")
        elif tag in ("sup", "sub"):
            self._parts.append(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        """End an element, and the elements left open within it."""
        if not any(name == tag for name, _ in self._open):
            return
        was_hidden = bool(self._hidden)
        while self._open:
            name, hides = self._open.pop()
            self._hidden -= hides
            if name == tag:
                break
        if not was_hidden:
            self._end(tag)

    def _end(self, tag: str) -> None:
        if tag in ("td", "th") and self._tables:
            self._end_cell()
            return
        if tag in _BLOCKS and tag != "table":
            self.end()
        if _HEADING.fullmatch(tag):
            self._heading = 0
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)
        elif tag == "pre":
            self._pre = max(0, self._pre - 1)
        elif tag == "table" and self._tables:
            self._end_table()
        elif tag == "a" and self._links:
            self._parts.append(f"\x00]({self._links.pop()})")
        elif tag in _EMPHASIS and not self._pre:
            self._parts.append(f"\x00{_EMPHASIS[tag]}>")
        elif tag in ("code", "kbd", "samp", "tt") and not self._pre:
            self._parts.append("`")
        elif tag in ("sup", "sub"):
            self._parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        """Text of the page."""
        if self._open and self._open[-1][0] == "title" and not any(tag == "svg" for tag, _ in self._open):
            self.title.append(data)
        elif not self._hidden:
            self._parts.append(data if self._pre else escaped(_SPACES.sub(" ", data)))

    def finish(self) -> None:
        """End everything that was left open."""
        while self._tables:
            self._end_table()
        self.end()

    def end(self) -> None:
        """End the current block."""
        raw, self._parts = "".join(self._parts), []
        if self._pre:
            text = code_block(re.sub(r"\x00\S*?[<>\[]|\x00\]\([^)]*\)", "", raw).strip("\n")) if raw.strip() else ""
        else:
            text = _inline(raw)
        if not text:
            return
        self._add(text)

    def _add(self, text: str) -> None:
        if self._tables and self._tables[-1].in_cell:
            self._tables[-1].within.append(text)
        else:
            self.blocks.append(self._placed(text))

    def _placed(self, text: str) -> str:
        if self._heading:
            text = f"{'#' * self._heading} {text.replace('  ' + chr(10), ' ')}"
        indent = "    " * max(0, len(self._lists) - 1)
        if self._lists:
            marker, self._marker = self._marker or "  ", ""
            lines = text.split("\n")
            beside = " " * len(marker)
            text = "\n".join([indent + marker + lines[0], *(f"{indent}{beside}{line}" for line in lines[1:])])
        return "\n".join(f"{'> ' * self._quotes}{line}" for line in text.split("\n")) if self._quotes else text

    def _next_marker(self) -> str:
        if not self._lists or not self._lists[-1].is_numbered:
            return "- "
        self._lists[-1].number += 1
        return f"{self._lists[-1].number - 1}. "

    def _begin_cell(self, tag: str) -> None:
        """Begin a row or a cell; one that was left open ends."""
        self._end_cell()
        here = self._tables[-1]
        if tag == "tr" or not here.rows:
            here.rows.append([])
        here.in_cell = tag != "tr"

    def _end_cell(self) -> None:
        """End the open cell. Text between cells, such as a caption, is a block before the table."""
        self.end()
        here = self._tables[-1]
        if here.in_cell:
            here.rows[-1].append(" ".join(here.within))
            here.within.clear()
        here.in_cell = False

    def _end_table(self) -> None:
        self._end_cell()
        if made := table(self._tables.pop().rows):
            self._add(made.replace("\n", " ") if self._tables else made)


def _inline(raw: str) -> str:
    """The text of a block. Marks of emphasis and links must touch their text, and empty ones are dropped."""
    text = re.sub(r"\x00\[(\s*)\x00\]\([^)]*\)", r"\1", raw)
    text = re.sub(r"\x00\[(\s*)", r"\1[", text)
    text = re.sub(r"(\s*)\x00\]\(\)", r"]\1", text) if "\x00]()" in text else text
    text = re.sub(r"(\s*)\x00(\]\([^)]*\))", r"\2\1", text)
    text = re.sub(r"\x00(\*\*|\*|~~)<(\s*)\x00\1>", r"\2", text)
    text = re.sub(r"\x00(\*\*|\*|~~)<(\s*)", r"\2\1", text)
    text = re.sub(r"(\s*)\x00(\*\*|\*|~~)>", r"\2\1", text)
    text = text.replace("\x00", "")
    text = re.sub(r" +(?=\S)", " ", text.replace("  \n", "\x01"))
    lines = [line.strip() for line in text.split("\x01")]
    return "  \n".join(line for line in lines if line).strip()


def _address(found: str | None) -> str:
    """A link's target that cannot leave its parentheses; none for scripts."""
    target = (found or "").strip()
    if re.match(r"(?:javascript|data|vbscript):", target, re.IGNORECASE):
        return ""
    return target.replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("\n", "")
