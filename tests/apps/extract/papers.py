"""Makes papers with known values: PDFs in English and Chinese, in one and two columns, with tables.

For each value it is known on which page and where on the page the sentence with it was drawn.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.apps.pdf.writing import HEIGHT, WIDTH, Pdf, Sheet

# Widths of Helvetica for the characters from space to tilde, in 1/1000 of the type size.
_WIDTHS = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 "
    "584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 "
    "611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 "
    "722 500 500 500 334 260 334 584"
)
HELVETICA = dict(zip(map(chr, range(32, 127)), map(int, _WIDTHS.split(" ")), strict=True))
TOP, BOTTOM, LEADING = 770.0, 70.0, 1.35


@dataclass(frozen=True)
class Span:
    """Part of a sentence on one line: its edges in points from the left, and its baseline from the bottom of the page."""

    page: int
    left: float
    right: float
    baseline: float
    size: float


@dataclass
class Paper:
    """A paper: its file, its values (None: the paper does not say), its sentences, and where they were drawn."""

    name: str
    path: Path
    chinese: bool
    columns: int
    values: dict[str, Any]
    sentences: dict[str, str] = field(default_factory=dict)
    places: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))


class Flow:
    """Sets text into columns, line by line, and remembers where labelled sentences are."""

    def __init__(self, paper: Paper, chosen: random.Random) -> None:
        self.paper = paper
        self.chosen = chosen
        self.font = "C" if paper.chinese else "R"
        self.sheets: list[Sheet] = []
        self.frames = [(60.0, 475.0)] if paper.columns == 1 else [(50.0, 235.0), (310.0, 235.0)]
        self.frame = len(self.frames)
        self.y = BOTTOM

    def width(self, text: str, size: float) -> float:
        """Width of a text in points."""
        if self.paper.chinese:
            return len(text) * size
        return sum(HELVETICA[character] for character in text) * size / 1000

    def room(self, height: float) -> None:
        """Continue in the next column or on the next page if there is no room."""
        if self.y - height >= BOTTOM and self.sheets:
            return
        self.frame += 1
        if self.frame >= len(self.frames):
            self.sheets.append(Sheet())
            self.sheets[-1].frame("Journal of Generated Examples 12 (4)", len(self.sheets))
            self.frame = 0
        self.y = TOP

    def paragraph(self, sentences: list[tuple[str, str | None]], size: float = 10.0) -> None:
        """Sentences one after the other; those with a label are remembered."""
        line: list[tuple[str, str | None]] = []
        filled = 0.0
        gap = 0.0 if self.paper.chinese else self.width(" ", size)
        for text, label in self._words(sentences):
            rest = text
            wide = self.width(rest, size)
            if line and filled + gap + wide > self.frames[self.frame % len(self.frames)][1]:
                cut = self._cut(rest, self.frames[self.frame % len(self.frames)][1] - filled - gap, size)
                if cut:
                    line.append((rest[:cut] + "-", label))
                    rest = rest[cut:]
                self._emit(line, size)
                line, filled = [], -gap
                wide = self.width(rest, size)
            line.append((rest, label))
            filled += gap + wide
        if line:
            self._emit(line, size)
        self.y -= 0.8 * size

    def heading(self, text: str, size: float = 13.0) -> None:
        """A heading."""
        self.y -= size
        self.paragraph([(text, None)], size)

    def table(self, rows: list[tuple[str, ...]], labels: list[str | None]) -> None:
        """A ruled table; the label of a row stands for all of its cells."""
        size, height, width = 9.0, 18.0, 72.0
        self.room(height * (len(rows) + 1))
        x, top = self.frames[self.frame][0], self.y
        sheet = self.sheets[-1]
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            baseline = top - height * (number + 1) + 6
            for column, cell in enumerate(row):
                sheet.text(x + column * width + 4, baseline, cell, self.font, size)
                sheet.operators.append(f"0.5 w {x + column * width:g} {baseline - 6:g} {width:g} {height:g} re S")
            if label is not None:
                right = x + (len(row) - 1) * width + 4 + self.width(row[-1], size)
                self.paper.places[label].append(Span(len(self.sheets), x + 4, right, baseline, size))
        self.y = top - height * (len(rows) + 1)

    def _words(self, sentences: list[tuple[str, str | None]]) -> Iterator[tuple[str, str | None]]:
        for text, label in sentences:
            for word in text if self.paper.chinese else text.split(" "):
                yield word, label

    def _cut(self, word: str, room: float, size: float) -> int:
        """Where a word is broken at the end of a line; 0 if it is not."""
        half = len(word) // 2
        if self.paper.chinese or not word.isalpha() or half < 4 or self.chosen.random() < 0.3:
            return 0
        return half if self.width(word[:half] + "-", size) <= room else 0

    def _emit(self, line: list[tuple[str, str | None]], size: float) -> None:
        self.room(LEADING * size)
        self.y -= LEADING * size
        start, _ = self.frames[self.frame]
        gap = "" if self.paper.chinese else " "
        text = ""
        for word, label in line:
            text += gap if text else ""
            left = start + self.width(text, size)
            text += word
            if label is not None:
                self._remember(label, left, start + self.width(text, size), size)
        self.sheets[-1].text(start, self.y, text, self.font, size)

    def _remember(self, label: str, left: float, right: float, size: float) -> None:
        spans = self.paper.places[label]
        if spans and (spans[-1].page, spans[-1].baseline) == (len(self.sheets), self.y) and left > spans[-1].left:
            left = spans.pop().left
        spans.append(Span(len(self.sheets), left, right, self.y, size))


_NOUNS = (
    "protocol questionnaire recruitment environment intervention assessment measurement instrument programme physician "
    "laboratory procedure background hypothesis interpretation community adherence registration randomisation committee"
)
_SAID = "was described was reviewed was considered was explained was discussed was prepared was revised was documented"
_CHINESE_WORDS = (
    "方案 问卷 招募 环境 干预 评估 测量 工具 医师 实验室 流程 背景 假设 解释 社区 依从性 登记 伦理 数据 质量"
)
_ENGLISH: dict[str, Callable[[Any], str]] = {
    "title": lambda v: v,
    "first_author": lambda v: f"{v}, Jane Roe and Max Example",
    "doi": lambda v: f"doi: {v}",
    "year": lambda v: f"This article was published online in March {v} after peer review.",
    "design": lambda v: f"To answer this question we conducted a {v} with blinded assessors.",
    "country": lambda v: f"All participants were recruited from outpatient clinics in {v} by trained staff.",
    "sample_size": lambda v: f"A total of {v:,} patients agreed to take part and were included in the analysis.",
    "mean_age": lambda v: f"The mean age of the participants was {v} years at the first visit.",
    "female_percent": lambda v: f"Of all participants, {v}% were women, and the groups were balanced.",
    "follow_up_months": lambda v: f"Every participant was followed for {v} months by telephone interviews.",
    "p_value": lambda v: f"The difference between the groups was statistically significant (p = {v}).",
}
_CHINESE: dict[str, Callable[[Any], str]] = {
    "title": lambda v: v,
    "first_author": lambda v: f"{v}、李四、王五",
    "doi": lambda v: f"文章编号：{v}",
    "year": lambda v: f"本文经同行评议后于{v}年三月在线发表。",
    "design": lambda v: f"为回答上述问题，我们开展了一项{v}，评估者不知道分组情况。",
    "country": lambda v: f"所有受试者均由经过培训的人员在{v}的门诊中招募。",
    "sample_size": lambda v: f"最终共有{v}名患者同意参加并纳入分析。",
    "mean_age": lambda v: f"首次就诊时受试者的平均年龄为{v}岁。",
    "female_percent": lambda v: f"全部受试者中女性占{v}%，各组之间基本均衡。",
    "follow_up_months": lambda v: f"每位受试者均通过电话访谈随访{v}个月。",
    "p_value": lambda v: f"两组之间的差异具有统计学意义（P＝{v}）。",
}
NUMBERS = ("year", "sample_size", "mean_age", "female_percent", "follow_up_months", "p_value", "n_treated", "n_control")
TEXTS = ("title", "first_author", "doi", "design", "country")
FIELDS = (*TEXTS, *NUMBERS)
_ALWAYS = ("title", "n_treated", "n_control")


def make_papers(folder: Path, count: int, seed: int = 16) -> list[Paper]:
    """Papers of all kinds, each in turn."""
    return [make_paper(folder / f"paper-{number:02}.pdf", number, seed) for number in range(count)]


def make_paper(path: Path, number: int, seed: int = 16) -> Paper:
    """One paper: every second one Chinese, every second pair in two columns; each leaves out two or three values."""
    chosen = random.Random(seed * 1000 + number)
    chinese, columns = number % 2 == 1, 1 + number // 2 % 2
    values = _values(chosen, number, chinese)
    for name in chosen.sample([name for name in FIELDS if name not in _ALWAYS], chosen.choice((2, 3))):
        values[name] = None
    paper = Paper(path.name, path, chinese, columns, values)
    said = _CHINESE if chinese else _ENGLISH
    paper.sentences = {name: said[name](values[name]) for name in said if values[name] is not None}
    _set(Flow(paper, chosen), chosen)
    return paper


def _values(chosen: random.Random, number: int, chinese: bool) -> dict[str, Any]:
    treated, control = chosen.randint(110, 480), chosen.randint(110, 480)
    topics = ("睡眠质量 疼痛 焦虑 血压" if chinese else "sleep pain anxiety hypertension").split(" ")
    designs = ("随机对照试验 队列研究 横断面研究" if chinese else "randomised trial,cohort study,case series").replace(
        ",", " ,"
    )
    title = (
        f"运动对成人{chosen.choice(topics)}的影响：编号{number}的生成研究"
        if chinese
        else (f"Effects of exercise on {chosen.choice(topics)} in adults: generated study {number}")
    )
    return {
        "title": title,
        "first_author": chosen.choice(("张三丰", "欧阳明", "诸葛青"))
        if chinese
        else chosen.choice(("Ada Smith", "Ken Miller")),
        "doi": f"10.{1000 + number}/gen.{chosen.randint(10_000, 99_999)}",
        "design": chosen.choice(designs.split(" ") if chinese else designs.split(" ,")),
        "country": chosen.choice(("上海市", "成都市", "广州市") if chinese else ("Norway", "Portugal", "Canada")),
        "year": chosen.randint(2003, 2024),
        "sample_size": treated + control,
        "mean_age": round(chosen.randint(300, 699) / 10 + 0.05, 2),
        "female_percent": chosen.randint(301, 699) / 10,
        "follow_up_months": chosen.choice((7, 14, 22, 26, 33)),
        "p_value": chosen.randint(11, 49) / 1000,
        "n_treated": treated,
        "n_control": control,
    }


def _filler(chosen: random.Random, chinese: bool) -> tuple[str, None]:
    """A sentence that says nothing and has no numbers."""
    if chinese:
        one, two, three = chosen.sample(_CHINESE_WORDS.split(" "), 3)
        return f"{one}与{two}的{three}由研究小组按照常规进行了说明。", None
    one, two, three = chosen.sample(_NOUNS.split(" "), 3)
    said = chosen.choice(_SAID.split(" was ")).removeprefix("was ")
    return f"The {one} of the {two} was {said} together with the {three} in detail.", None


def _set(flow: Flow, chosen: random.Random) -> None:
    """Set a paper: a head, then sections of filler with one sentence for each value, and a table."""
    paper = flow.paper
    said = paper.sentences
    flow.room(60)
    flow.paragraph([(said["title"], "title")], 15.0)
    for name in ("first_author", "doi"):
        if name in said:
            flow.paragraph([(said[name], name)], 9.0)
    sections = (
        ["引言", "方法", "结果", "讨论"] if paper.chinese else ["Introduction", "Methods", "Results", "Discussion"]
    )
    left = [name for name in said if name not in ("title", "first_author", "doi")]
    chosen.shuffle(left)
    for number, section in enumerate(sections):
        flow.heading(section)
        for _ in range(5):
            sentences: list[tuple[str, str | None]] = [
                _filler(chosen, paper.chinese) for _ in range(chosen.randint(3, 7))
            ]
            if left:
                name = left.pop()
                sentences.insert(chosen.randint(0, len(sentences)), (said[name], name))
            flow.paragraph(sentences)
        if number == 2:
            _table(flow)
    paper.path.write_bytes(Pdf(flow.sheets).written())


def _table(flow: Flow) -> None:
    paper = flow.paper
    treated, control = str(paper.values["n_treated"]), str(paper.values["n_control"])
    head, row = (
        (("组别", "治疗组", "对照组"), "入组人数") if paper.chinese else (("Group", "Treated", "Control"), "Enrolled")
    )
    flow.table([head, (row, treated, control)], [None, "n_treated"])
    paper.sentences["n_treated"] = paper.sentences["n_control"] = f"{row} {treated} {control}"
    paper.places["n_control"] = paper.places["n_treated"]


def is_right_box(box: dict[str, Any], span: Span) -> bool:
    """Whether a box is around the text: its edges within 4 points, its height around the line and not more."""
    left, right = box["x"] * WIDTH, (box["x"] + box["width"]) * WIDTH
    top, bottom = HEIGHT * (1 - box["y"]), HEIGHT * (1 - box["y"] - box["height"])
    return bool(
        box["page"] == span.page
        and abs(left - span.left) < 4
        and abs(right - span.right) < 4
        and bottom - 2 <= span.baseline <= bottom + 0.5 * span.size
        and 0.5 * span.size < top - bottom < 2 * span.size
    )
