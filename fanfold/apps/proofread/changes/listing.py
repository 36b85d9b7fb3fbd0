"""Lists the changes of paragraphs, names the rule or model behind each, and applies people's decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import fanfold as ff
from fanfold.apps.proofread.changes.change import Change, ChangeKind, Span, Topic
from fanfold.apps.proofread.changes.compare import NEAR, differences, join_near
from fanfold.apps.proofread.formats.book import Brackets
from fanfold.apps.proofread.rules import Applied
from fanfold.model.views.changes import kind_of, topic_of

CONTEXT = 12


@dataclass(frozen=True)
class Pair:
    """A paragraph before and after. ``ruled`` is its text after the rules and before the model."""

    block: str
    source: str
    answer: str
    ruled: str | None = None
    model: str = ""
    steps: tuple[Applied, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """A decision about one change: `accept`, `reject`, or `replace` with a text."""

    verdict: str
    value: str | None = None


def list_changes(pairs: Iterable[Pair], brackets: Brackets | None = None) -> list[Change]:
    """The changes of paragraphs, in order, each with a key made from its content.

    Pass all pairs of one item at once: equal changes in equal paragraphs are numbered within the list.
    """
    found = [(pair, span, origin) for pair in pairs for span, origin in _made(pair, brackets)]
    # A paragraph goes into its keys as a digest: it is hashed once, not once for each change.
    digests = {source: ff.part_key(source) for source in {pair.source for pair, _, _ in found}}
    keys = ff.part_keys([digests[pair.source], span.start, span.end, span.after] for pair, span, _ in found)
    return [_change(key, *one) for key, one in zip(keys, found, strict=True)]


def decided(source: str, changes: Sequence[Change], decisions: Mapping[str, Verdict], usual: str = "accept") -> str:
    """A paragraph with the decisions about its changes applied; ``usual`` is the default decision."""
    pieces, at = [], 0
    for change in sorted(changes, key=lambda one: one.start):
        made = decisions.get(change.key, Verdict(usual))
        text = {"accept": change.after, "reject": change.before, "replace": made.value or ""}[made.verdict]
        pieces += [source[at : change.start], text]
        at = change.end
    return "".join([*pieces, source[at:]])


def merged(
    pairs: Iterable[Pair], changes: Iterable[Change], decisions: Mapping[str, Verdict], usual: str = "accept"
) -> dict[str, str]:
    """Every paragraph with the decisions about its changes applied, by block."""
    by_block: dict[str, list[Change]] = {}
    for change in changes:
        by_block.setdefault(change.block, []).append(change)
    return {pair.block: decided(pair.source, by_block.get(pair.block, []), decisions, usual) for pair in pairs}


def _change(key: str, pair: Pair, span: Span, origin: str) -> Change:
    before = pair.source[span.start : span.end]
    kind = ChangeKind(kind_of(before, span.after))
    left = pair.source[max(0, span.start - CONTEXT) : span.start]
    right = pair.source[span.end : span.end + CONTEXT]
    return Change(
        key, pair.block, span.start, before, span.after, kind, Topic(topic_of(before, span.after)), origin, left, right
    )


def _made(pair: Pair, brackets: Brackets | None) -> list[tuple[Span, str]]:
    """The differences of a pair, each with its origin. Nearby ones are merged if one rule or the model made them."""
    rules = _rule_spans(pair, brackets)
    made: list[tuple[Span, str]] = []
    for span in differences(pair.source, pair.answer, brackets):
        origin = f"rule:{rules[span]}" if span in rules else f"model:{pair.model}"
        last, before = made[-1] if made else (Span(0, -NEAR, ""), "")
        if span.start - last.end < NEAR and origin == before:
            made[-1] = join_near(pair.source, [last, span])[0], origin
        else:
            made.append((span, origin))
    return made


def _rule_spans(pair: Pair, brackets: Brackets | None) -> Mapping[Span, str]:
    """The differences made by rules only, each with the name of its rule."""
    ruled = pair.answer if pair.ruled is None and not pair.model else pair.ruled
    if ruled is None or not pair.steps:
        return {}
    by_text: dict[tuple[str, str], str] = {}
    for step in pair.steps if len({step.rule for step in pair.steps}) > 1 else ():
        for span in differences(step.before, step.after, brackets):
            by_text.setdefault((step.before[span.start : span.end], span.after), step.rule)
    every = "+".join(dict.fromkeys(step.rule for step in pair.steps))
    return {
        span: by_text.get((pair.source[span.start : span.end], span.after), every)
        for span in differences(pair.source, ruled, brackets)
    }
