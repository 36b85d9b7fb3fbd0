"""Rendered Markdown is harmless, whatever a model or a document put into it."""

import re
import time

import pytest

from fanfold.server.web.frame.markdown import ATTRIBUTES, MOST_CHARACTERS, TAGS, rendered

ENOUGH_SECONDS = 5.0
HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/pixel.gif)",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='JaVaScRiPt:alert(1)'>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href=' javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<a href='vbscript:msgbox(1)'>x</a>",
    "<a href='//evil.example'>x</a>",
    "<a href='/tasks/t-1/delete'>x</a>",
    "<a href='https://ok.example' onclick='alert(1)' style='position:fixed' class=button id=confirm>x</a>",
    "<a href='https://ok.example' target=_top rel=opener ping='https://evil.example'>x</a>",
    "<p onmouseover=alert(1)>x</p>",
    "<div hx-post='/tasks/t-1/delete' hx-trigger='load' data-hx-get='/x' data-key=p>x</div>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='javascript:alert(1)'></object><embed src='javascript:alert(1)'>",
    "<form action='/tasks/t-1/delete' method=post><button>x</button><input autofocus onfocus=alert(1)></form>",
    "<base href='https://evil.example/'><meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href=https://evil.example/x.css><style>*{display:none}</style>",
    "<!-- <script>alert(1)</script> --><!--[if IE]><script>alert(1)</script><![endif]-->",
    "<table><td></table></div></div></main><script>alert(1)</script>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<template><script>alert(1)</script></template>",
    "<textarea></textarea><img src=x onerror=alert(1)></textarea>",
    "<td colspan='99999999' rowspan='-1' align='x' background='javascript:alert(1)'>x</td>",
    "`<script>alert(1)</script>`",
    "```html\n<script>alert(1)</script>\n```",
    '[x]: javascript:alert(1)\n[x]\n\n[y](https://ok.example "title\'><script>alert(1)</script>")',
    "<b/onclick=alert(1)//x>x",
    "<video><source onerror=alert(1)></video><audio src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
]
TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)((?:[^>\"']|\"[^\"]*\"|'[^']*')*)>")
ATTRIBUTE = re.compile(r"([^\s=\"'/]+)\s*=\s*\"([^\"]*)\"")
ALWAYS_ON_LINKS = {"rel": "noopener noreferrer", "target": "_blank"}


def parts(html: str) -> list[tuple[str, dict[str, str]]]:
    """Every tag that a browser would see, with its attributes."""
    return [(match[2].lower(), dict(ATTRIBUTE.findall(match[3]))) for match in TAG.finditer(html)]


def html_of(text: str) -> str:
    html = rendered(text)
    assert html is not None
    return str(html)


@pytest.mark.parametrize("text", HOSTILE)
def test_only_what_is_on_the_list_is_left_of_hostile_text(text: str) -> None:
    for wrapped in (text, f"before\n\n{text}\n\nafter", f"| a |\n|---|\n| {text} |", f"> - {text}"):
        html = html_of(wrapped)
        assert "<!--" not in html
        for tag, attributes in parts(html):
            assert tag in TAGS
            for name, value in attributes.items():
                if tag == "a" and name in ALWAYS_ON_LINKS:
                    assert value == ALWAYS_ON_LINKS[name]
                else:
                    assert name in ATTRIBUTES.get(tag, set())
                if name == "href":
                    assert re.match(r"(?:https?:|mailto:)", value)


def test_links_go_elsewhere_without_a_way_back() -> None:
    html = html_of("[a](https://example.org/?q=1&b=2) <a href='mailto:a@example.org'>b</a>")
    assert html.count('rel="noopener noreferrer"') == html.count('target="_blank"') == 2
    assert 'href="https://example.org/?q=1&amp;b=2"' in html
    assert 'href="mailto:a@example.org"' in html


def test_the_text_of_unknown_elements_is_kept_and_that_of_scripts_is_not() -> None:
    assert "kept" in html_of("<section><font color=red>kept</font></section>")
    assert "alert" not in html_of("a <script>alert(1)</script> b")


def test_tables_keep_their_spans_and_the_alignment_of_columns() -> None:
    html = html_of("<table><tr><td colspan=2 rowspan='3'>x</td></tr></table>")
    assert 'colspan="2"' in html
    assert 'rowspan="3"' in html
    html = html_of("| a | b |\n|--:|:-:|\n| 1 | 2 |")
    assert '<td align="right">1</td>' in html
    assert '<td align="center">2</td>' in html
    assert "style" not in html


def test_ordinary_markdown_is_rendered() -> None:
    html = html_of(
        "# T\n\n- a\n- *b*\n\n1. c\n\n> q\n\n`x` ~~y~~ H<sub>2</sub>O<br>**z**\n\n---\n\n```py\nif a < b: pass\n```\n"
    )
    for tag in ("h1", "ul", "ol", "li", "em", "blockquote", "code", "s", "sub", "strong", "pre"):
        assert f"<{tag}>" in html
    assert "<br>" in html
    assert "<hr>" in html
    assert "a &lt; b" in html


def test_broken_nesting_is_closed() -> None:
    html = html_of("<div><table><tr><td><b>x</div>\n\nafter")
    opened = [tag for tag, _ in parts(html) if tag not in ("br", "hr")]
    assert all(opened.count(tag) % 2 == 0 for tag in set(opened))


def test_a_huge_text_is_not_rendered() -> None:
    assert rendered("a" * (MOST_CHARACTERS + 1)) is None
    assert rendered("x\n" * 1_500_000) is None


@pytest.mark.parametrize(
    "unit",
    [
        "*_",
        "*a*",
        "_a_ ",
        "**a**",
        "~~a~~",
        "`a` ",
        "*a**b***c",
        "- - - - x\n",
        "> - > x\n",
        "|*a\n",
        "|a",
        "1) 1) x\n",
        "-\t-\tx\n",
    ],
)
def test_a_text_with_too_many_marks_is_shown_as_it_is(unit: str) -> None:
    assert rendered(unit * (MOST_CHARACTERS // len(unit))) is None


def test_a_long_ordinary_text_is_rendered() -> None:
    paragraph = "Some *words* of a [text](https://example.org) that_is_long, with `code`, and **more**. " * 5
    page = f"# Chapter\n\n{paragraph}\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    assert rendered(page * (150_000 // len(page))) is not None


@pytest.mark.parametrize(
    "text",
    [
        ">" * 50_000 + " x",
        "> " * 20_000 + "x",
        "\n".join("  " * depth + "- x" for depth in range(400)),
        "- " * 20_000 + "x",
        "<div>" * 10_000 + "x",
        "<div>" * 40_000 + "x",
        "<b><i>" * 5_000,
        "[" * 10_000,
        "[" * 200_000,
        "![[" * 5_000,
        "- x\n" * 10_000,
        "*a _b " * 20_000,
        "**" * 50_000,
        "`" * 50_000 + "a",
        "a`b``c```" * 10_000,
        "&" * 50_000,
        "<a href='" * 10_000,
        "<!--" * 10_000,
        "|" * 50_000 + "\n" + "|-" * 25_000,
        "|a" * 500 + "\n" + "|-" * 500 + ("\n" + "|b" * 500) * 50,
        "[a]: b\n" * 10_000,
        "~~" * 30_000,
        "*_" * 100_000,
        "*_" * 10_000,
        "*_~`![<a" * 4_000,
        "- - - - - - x\n" * 4_000,
        "1. x\n" * 9_999,
        "|a" * 500 + "\n" + "|-" * 500 + ("\n" + "|b" * 500) * 55,
        "![a](" * 10_000 + "(" * 140_000,
        "<table><tr><td>" * 3_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_texts_made_to_be_slow_are_not(text: str) -> None:
    started = time.process_time()
    rendered(text)
    assert time.process_time() - started < ENOUGH_SECONDS
