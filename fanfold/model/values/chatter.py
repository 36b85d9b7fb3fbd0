"""Removes what a model says around its answer: reasoning, a greeting, an offer of more help, a code fence around everything.

Documents say such things as well: a letter ends with "Let me know if you have any questions". So a line is removed only if it
is about the job itself (the transcription, the Markdown), or if something else in the answer shows that it does not belong to
the document.
"""

from __future__ import annotations

import re

LONGEST = 300
"""Longest remark of a model around its answer."""

_THOUGHTS = re.compile(r"\s*<(think|thinking|thought|reasoning)>(?P<inside>.*?)</\1>\s*", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(r"\s*<(think|thinking|thought|reasoning)>\s*", re.IGNORECASE)
# Some servers send only the closing tag of the reasoning, on a line of its own.
_CLOSED = re.compile(
    r"\A(?P<inside>.*?)^[ \t]*</(think|thinking|thought|reasoning)>[ \t]*$\s*", re.DOTALL | re.MULTILINE
)
_JOB = (
    r"(?:markdown|transcri\w+|convert\w*|conversion|extract\w*|ocr\b|reformat\w*|"
    r"(?:the|this|your|that) (?:image|picture|screenshot|page you|scanned)|as requested|you requested|you asked)"
)
_EAGER = r"(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|alright|great|gladly|no problem|got it|understood)"
_HERE = (
    r"(?:here(?:'s|’s| is| are| you go)|below (?:is|are)|the following is|i(?:'ve|’ve| have) (?:transcribed|converted|extracted)|"
    r"this is the|i(?:'ll|’ll| will| can) )"
)
_GREETING = re.compile(
    # "Sure" alone may be dialogue in a novel, so it must announce the page.
    rf"{_EAGER}\s*[!,.:—-]+\s*{_HERE}.*(?:{_JOB}|page|text|content|document|table|version|result).*|"
    rf"{_EAGER}\s*[!,.:—-]+\s*here (?:it is|you go|you are)\W*|{_HERE}.*{_JOB}.*",
    re.IGNORECASE,
)
_GREETING_CHINESE = re.compile(
    r"(?:好的|当然(?:可以)?|没问题)[，,！!。]\s*(?:以下|下面|这是|这里).*|(?:以下|下面)是.*(?:转换|转录|提取|识别|Markdown).*"
)
_OFFER = re.compile(
    r"(?:please\s+)?(?:let me know|feel free|don(?:'|’)t hesitate|do not hesitate|(?:i )?hope (?:this|that) helps|"
    r"is there anything else|would you like me to|if you(?:'d|’d| would)? (?:need|want|like|have|wish|prefer)\b|happy to help)",
    re.IGNORECASE,
)
_OFFER_CHINESE = re.compile(
    r"(?:如果|如|若)(?:您|你)?(?:还)?(?:需要|有).*(?:告诉我|随时|联系我|请问)|希望(?:这|以上).*(?:帮助|有用)|还有(?:什么|其他).*(?:帮|需要)"
)
_SERVICE = re.compile(
    r"anything else|further (?:help|assistance|changes|adjust\w*)|(?:any|more|other) (?:changes|adjust\w*|edits|modif\w*)|"
    r"hope (?:this|that) helps",
    re.IGNORECASE,
)
_ABOUT_THE_JOB = re.compile(_JOB, re.IGNORECASE)
_ABOUT_THE_JOB_CHINESE = re.compile(r"转换|转录|提取|识别|格式|Markdown", re.IGNORECASE)
_FENCE = re.compile(
    r"^```[ \t]*(?P<language>markdown|md|text)?[ \t]*\n(?P<inside>.*?)\n?```$", re.DOTALL | re.IGNORECASE
)
_FENCE_WITHIN = re.compile(
    r"\A```[ \t]*(?:markdown|md)[ \t]*\n(?P<inside>.*)\n```[ \t]*\n(?P<after>(?:(?!```).)*)\Z",
    re.DOTALL | re.IGNORECASE,
)
_RULE = re.compile(r"\n\s*(?:-{3,}|\*{3,}|_{3,})\s*\Z")


def without_chatter(text: str) -> str:
    """The answer itself."""
    text = _without_thoughts(text).strip()
    text, greeted = _without_greeting(text)
    fenced = _FENCE_WITHIN.match(text)
    if fenced and (not fenced["after"].strip() or _is_offer(fenced["after"].strip(), greeted=True)):
        return unfenced(f"```markdown\n{fenced['inside']}\n```")
    return unfenced(_without_offer(text, greeted))


def unfenced(text: str) -> str:
    """The content of an answer that is wrapped, as a whole, in a code fence."""
    found = _FENCE.match(text)
    if found is None:
        return text
    inner = len(re.findall(r"^```", found["inside"], re.MULTILINE))
    if inner % 2 or (inner and not found["language"]):
        return text  # Two blocks of code with text between them, not one fence around everything.
    return found["inside"].strip()


def offer_at_the_end(text: str) -> str | None:
    """The last paragraph, if it reads like an offer of more help. The caller decides whether it is part of the document."""
    last = text.rstrip().rpartition("\n\n")[2].strip()
    return last if last and last != text.strip() and _sounds_like_an_offer(last) else None


def _without_thoughts(text: str) -> str:
    """The answer without the reasoning before it. If the reasoning has no end, only its opening tag is removed."""
    while found := _THOUGHTS.match(text):
        text = text[found.end() :]
    if found := _OPEN.match(text):
        return text[found.end() :]
    closed = _CLOSED.match(text)
    return text[closed.end() :] if closed and not re.search(r"<(?:think|thought|reason)", closed["inside"]) else text


def _without_greeting(text: str) -> tuple[str, bool]:
    """The answer without its first line if that announces the answer, and whether it did."""
    first, _, rest = text.partition("\n")
    first = first.strip().strip("*_")
    if not rest.strip() or len(first) > LONGEST or first.startswith(("#", "|", "-", ">", "`")):
        return text, False
    announces = _GREETING.fullmatch(first) or _GREETING_CHINESE.fullmatch(first)
    # A line that continues on the next one is part of a paragraph.
    ends = first.endswith((":", "：", ".", "!", "。", "！")) and (
        rest.startswith(("\n", "```")) or first.endswith((":", "："))
    )
    if not announces or not ends:
        return text, False
    rest = re.sub(r"\A\s*(?:-{3,}|\*{3,})[ \t]*\n", "", rest.lstrip("\n"))
    return rest.strip(), True


def _without_offer(text: str, greeted: bool) -> str:
    """The answer without its last paragraph, if that offers more help with the job."""
    before, _, last = text.rpartition("\n\n")
    if not before.strip() or not _is_offer(last.strip(), greeted):
        return text
    return _RULE.sub("", before).strip()


def _is_offer(last: str, greeted: bool) -> bool:
    if not _sounds_like_an_offer(last):
        return False
    about = _ABOUT_THE_JOB.search(last) or _ABOUT_THE_JOB_CHINESE.search(last)
    return about is not None or (greeted and (_SERVICE.search(last) or _OFFER_CHINESE.match(last)) is not None)


def _sounds_like_an_offer(last: str) -> bool:
    plain = last.strip("*_ ")
    return (
        len(plain) <= LONGEST and "\n" not in plain and (_OFFER.match(plain) or _OFFER_CHINESE.match(plain)) is not None
    )
