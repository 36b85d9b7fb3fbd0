"""Deterministic rules: named, ordered corrections that can be switched off and run before and after a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import fanfold as ff
from fanfold.apps.proofread.formats.book import Block, BlockKind, Place
from fanfold.apps.proofread.formats.paragraphs import NEWLINE, is_head, spans_of_lines
from fanfold.apps.proofread.rules import lines, punctuation
from fanfold.apps.proofread.rules.rule import AnyRule, GapRule, Rule, Setting
from fanfold.apps.proofread.scripts import mostly_cjk
from fanfold.apps.proofread.sentences import say_of_proofread

__all__ = [
    "RULES",
    "AnyRule",
    "Applied",
    "GapRule",
    "Rule",
    "Ruled",
    "Setting",
    "choose_rules",
    "correct_blocks",
    "correct_line",
    "correct_text",
    "is_chinese",
]

RULES: tuple[AnyRule, ...] = (*lines.RULES, *punctuation.RULES)
"""All rules, in the order in which they are applied."""
USUAL = Setting()
MOST_PASSES = 4
"""A rule may create a match for an earlier one, so a line is corrected until nothing changes."""


@dataclass(frozen=True)
class Applied:
    """One rule's effect on one block."""

    rule: str
    block: str
    before: str
    after: str


@dataclass(frozen=True)
class Ruled:
    """The result of the rules: the changed blocks, how often each rule changed something, and each step."""

    changed: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    steps: tuple[Applied, ...] = ()


def choose_rules(names: Iterable[str] | None = None) -> tuple[AnyRule, ...]:
    """The rules to apply: the usual ones, changed by ``+name`` and ``-name``, or exactly the named ones.

    `all` and `none` select all rules or no rules. Raises BadOption, which lists the rules, if a name is unknown.
    """
    wanted = [name.strip() for name in names or () if name.strip()]
    known = {rule.name for rule in RULES}
    signed = all(name[0] in "+-" for name in wanted)
    chosen = {rule.name for rule in RULES if rule.on} if signed else set()
    for name in wanted:
        bare = name.lstrip("+-")
        if bare not in known | {"all", "none"}:
            raise ff.BadOption(say_of_proofread("unknown_rule", rule=bare, rules=sorted(known)), field="rules")
        meant = known if bare == "all" else {bare} & known
        chosen = chosen - meant if name.startswith("-") else chosen | meant
    return tuple(rule for rule in RULES if rule.name in chosen)


def correct_line(
    text: str, rules: Sequence[AnyRule], setting: Setting = USUAL, block: str = ""
) -> tuple[str, list[Applied]]:
    """A paragraph after all rules, and what each rule did."""
    steps: list[Applied] = []
    own = [rule for rule in rules if isinstance(rule, Rule)]
    for _ in range(MOST_PASSES):
        before_pass = text
        for rule in own:
            after = rule.apply(text, setting)
            if after != text:
                steps.append(Applied(rule.name, block, text, after))
                text = after
        if text == before_pass:
            break
    return text, steps


def correct_blocks(
    blocks: Sequence[Block], rules: Sequence[AnyRule], *, newline: str = "\n", layout: bool = True
) -> Ruled:
    """Apply the rules to blocks. Without ``layout``, as for formats with markup, rules about margins are left out."""
    usual = [rule for rule in rules if layout or rule.name not in LAYOUT]
    gaps = [rule for rule in usual if isinstance(rule, GapRule)]
    chinese = is_chinese(blocks)
    changed: dict[str, str] = {}
    steps: list[Applied] = []
    emptied = False
    for block in blocks:
        if block.kind is BlockKind.GAP:
            text, done = _correct_gap(block, gaps, newline, emptied)
        else:
            text, done = correct_line(block.text, usual, Setting(block.kind is BlockKind.HEAD, chinese), block.id)
            emptied = not text
        steps += done
        if text != block.text:
            changed[block.id] = text
    return Ruled(changed, dict(Counter(step.rule for step in steps)), tuple(steps))


def correct_text(text: str, rules: Sequence[AnyRule]) -> tuple[str, Ruled]:
    """Apply the rules to a plain text, in which every line is a paragraph."""
    newlines = Counter(NEWLINE.findall(text)).most_common(1)
    newline = newlines[0][0] if newlines else "\n"
    blocks = _text_blocks(text)
    ruled = correct_blocks(blocks, rules, newline=newline)
    return "".join(ruled.changed.get(block.id, block.text) for block in blocks), ruled


def is_chinese(blocks: Sequence[Block]) -> bool:
    """Whether the text as a whole is Chinese or Japanese, judged by up to 20 000 characters from its middle."""
    middle = blocks[max(0, len(blocks) // 2 - 100) :][:400]
    return mostly_cjk("".join(block.text for block in middle)[:20_000])


LAYOUT = frozenset({"line_ends", "blank_lines", "separator_lines", "heads", "indentation"})
"""Rules about the layout of a text file; in other formats the markup decides about it."""


def _correct_gap(block: Block, rules: Sequence[GapRule], newline: str, emptied: bool) -> tuple[str, list[Applied]]:
    """A gap after the rules; the gap after a removed line is removed too."""
    text, steps = block.text, []
    if emptied:
        return "", [Applied("separator_lines", block.id, text, "")]
    for rule in rules:
        after = rule.apply(text, newline)
        if after != text:
            steps.append(Applied(rule.name, block.id, text, after))
            text = after
    return text, steps


def _text_blocks(text: str) -> list[Block]:
    ends = [found.span() for found in NEWLINE.finditer(text)]
    starts, stops = [0, *(after for _, after in ends)], [*(end for end, _ in ends), len(text)]
    blank = [not text[start:stop].strip() for start, stop in zip(starts, stops, strict=True)]
    blocks = []
    for number, span in enumerate(spans_of_lines(ends, len(text), blank, wrapped=False)):
        piece = text[span.start : span.end]
        kind = BlockKind.GAP if span.gap else BlockKind.HEAD if is_head(piece) else BlockKind.PARAGRAPH
        blocks.append(Block(str(number), piece, Place(span.start, span.end), kind=kind))
    return blocks
